package emit

import (
	"fmt"
	"testing"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// Messages list an enum's values, quoted where they would not stand out; not
// those of a currency or a country.
func TestEnumValues_AreListedWhenFew(t *testing.T) {
	few := []*spec.EnumValue{{Value: "web"}, {Value: "a b"}, {Value: ""}}
	var many []*spec.EnumValue
	for i := range 40 {
		many = append(many, &spec.EnumValue{Value: fmt.Sprint("value", i)})
	}
	for want, ref := range map[string]*spec.TypeRef{
		`web, "a b", ""`:    {Enum: &spec.Enum{Values: few}},
		"the enum's values": {Named: &spec.Type{Enum: many}},
	} {
		if have := enumValues(ref); have != want {
			t.Errorf("have %s, want %s", have, want)
		}
	}
}
