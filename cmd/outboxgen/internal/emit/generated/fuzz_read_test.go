package generated_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/emittest"
)

// FuzzUnmarshalJSON feeds any bytes to the golden types. What one takes, and
// can write, is canonical and comes back the same.
func FuzzUnmarshalJSON(f *testing.F) {
	var all []event
	for _, folder := range []string{"design", "everything", "names", "own"} {
		all = append(all, golden[folder]...)
		for _, e := range emittest.Load(f, "../testdata/"+folder).Events {
			if i := indexOf(golden[folder], e.GoName); i >= 0 {
				at := slices.Index(all, golden[folder][i])
				f.Add(uint8(at), emittest.NewSampler(1).Text(e.Fields))
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		e := blank(all[int(which)%len(all)])
		if e.UnmarshalJSON(text) != nil {
			return
		}
		body, err := e.AppendCanonical(nil)
		if err != nil {
			return
		}
		if want, err := jcs.Transform(body); err != nil || !bytes.Equal(want, body) {
			t.Fatalf("%s is not canonical: %s, %v", body, want, err)
		}
		again := blank(e)
		if err := again.UnmarshalJSON(body); err != nil {
			t.Fatalf("%s is not read again: %v", body, err)
		}
		if back, err := again.AppendCanonical(nil); err != nil || !bytes.Equal(back, body) {
			t.Fatalf("%s comes back as %s, %v", body, back, err)
		}
	})
}
