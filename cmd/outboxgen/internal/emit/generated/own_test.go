package generated_test

import (
	"strings"
	"testing"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/testdata/own"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/testdata/own/ship"
)

// TestOwnType_IsAskedForItsText: what an own type cannot write or read is a
// fault of the field.
func TestOwnType_IsAskedForItsText(t *testing.T) {
	err := own.Box{}.Validate()
	if err == nil || err.Error() != "carrier: carrier without a name" {
		t.Errorf("writing: %v", err)
	}
	var box own.Box
	err = box.UnmarshalJSON([]byte(`{"carrier":""}`))
	if err == nil || err.Error() != "carrier: carrier without a name" {
		t.Errorf("reading: %v", err)
	}
	err = box.UnmarshalJSON([]byte(`{"carrier":1}`))
	if err == nil || err.Error() != "carrier: a number where a string is expected" {
		t.Errorf("reading another kind: %v", err)
	}
	if err := box.UnmarshalJSON([]byte(`{"carrier":"a\"b"}`)); err != nil || box.Carrier != ship.NewCarrier(`a"b`) {
		t.Errorf("%+v, %v", box, err)
	}
}

// TestOwnType_KeepsToTheSpecsType: an own type that writes what its field's
// type cannot hold is stopped at the insert.
func TestOwnType_KeepsToTheSpecsType(t *testing.T) {
	cents := ship.Cents(1 << 60)
	err := own.Keyed{Cents: &cents}.Validate()
	if err == nil || !strings.HasPrefix(err.Error(), "cents: integer 1152921504606846976 is outside") {
		t.Error(err)
	}
}

func TestOwnType_WithoutMethods(t *testing.T) {
	err := own.Wrong{}.Validate()
	if err == nil || err.Error() != "neither: *ship.Neither has neither AppendCanonical nor MarshalText" {
		t.Errorf("writing: %v", err)
	}
	err = new(own.Wrong).UnmarshalJSON([]byte(`{"neither":"x"}`))
	if err == nil || err.Error() != "neither: *ship.Neither has neither AppendCanonical and UnmarshalJSON nor UnmarshalText" {
		t.Errorf("reading: %v", err)
	}
}
