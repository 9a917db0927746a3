package outbox

import (
	"encoding/json"
	"testing"
)

// Case G-14, for the field that has all three states.
func TestOptional_TellsAbsentNullAndZeroApart(t *testing.T) {
	type event struct {
		N Optional[int] `json:"n,omitzero"`
	}
	for _, c := range []struct {
		json           string
		value          Optional[int]
		set, null, has bool
	}{
		{`{}`, Optional[int]{}, false, false, false},
		{`{"n":null}`, Null[int](), true, true, false},
		{`{"n":0}`, Some(0), true, false, true},
		{`{"n":7}`, Some(7), true, false, true},
	} {
		b, err := json.Marshal(event{c.value})
		if err != nil || string(b) != c.json {
			t.Errorf("%s is written as %s, %v", c.json, b, err)
		}
		var back event
		if err := json.Unmarshal([]byte(c.json), &back); err != nil || back.N != c.value {
			t.Errorf("%s is read as %+v, %v", c.json, back, err)
		}
		_, has := c.value.Get()
		if c.value.IsSet() != c.set || c.value.IsNull() != c.null || has != c.has || c.value.IsZero() == c.set {
			t.Errorf("%s: set %v, null %v, has %v", c.json, c.value.IsSet(), c.value.IsNull(), has)
		}
	}
	var o Optional[int]
	if err := json.Unmarshal([]byte(`"x"`), &o); err == nil || o.IsSet() {
		t.Errorf("a wrong value: %v, %+v", err, o)
	}
}
