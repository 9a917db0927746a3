package payload_test

import (
	"fmt"

	"github.com/outboxgen/outboxgen/runtime/payload"
)

type parcel struct {
	Weight int64
	To     string
}

func (p *parcel) write(w *payload.Writer) {
	w.Object()
	w.Member(`"to":`).String(p.To).MaxLength(20)
	w.Member(`"weight":`).Int(p.Weight).Min(1)
	w.EndObject()
}

func readParcel(v payload.Value) parcel {
	o := v.Object()
	p := parcel{
		To:     o.Required("to").String(),
		Weight: o.Required("weight").Int(),
	}
	o.End()
	return p
}

// What generated code does to write a value.
func ExampleWriter() {
	for _, p := range []parcel{{Weight: 3, To: "Ljubljana"}, {To: "a place with a name that is too long"}} {
		w := payload.NewWriter(nil)
		p.write(w)
		body, err := w.Close()
		fmt.Printf("%s\n%v\n", body, err)
	}
	// Output:
	// {"to":"Ljubljana","weight":3}
	// <nil>
	//
	// to: has 36 characters, more than 20
	// weight: is 0, less than 1
}

// What generated code does to read a value.
func ExampleUnmarshal() {
	var p parcel
	err := payload.Unmarshal([]byte(`{"weight": 3, "to": "Ljubljana", "colour": "red"}`), &p, readParcel)
	fmt.Println(p, err)
	err = payload.Unmarshal([]byte(`{"weight": "3", "To": "Ljubljana"}`), &p, readParcel)
	fmt.Println(err)
	// Output:
	// {3 Ljubljana} <nil>
	// to: is missing
	// weight: a string where a number is expected
	// member "To" differs from "to" only by case
}
