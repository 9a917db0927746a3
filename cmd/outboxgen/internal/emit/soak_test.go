package emit_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"text/template"

	"github.com/gowebpki/jcs"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/emittest"
)

// TestManyEvents_SurviveTheWholeWay generates a package for many events that
// use the whole language, vets it, and sends one of each from insert to
// receiver. With OUTBOXGEN_SOAK=1 there are 500, and staticcheck looks at them.
func TestManyEvents_SurviveTheWholeWay(t *testing.T) {
	n, soak := 40, os.Getenv("OUTBOXGEN_SOAK") != ""
	if soak {
		n = 500
	}
	if testing.Short() {
		t.Skip("it compiles a package of its own")
	}
	s := emittest.LoadText(t, bigSpec(n))
	c := newConsumer(t)
	c.generate(t, "events", emittest.Files(t, s))

	type sample struct {
		Event, Type string
		Version     int
		Body        json.RawMessage // in any form
		Canonical   string
	}
	var samples []sample
	for i, e := range s.Events {
		sampler := emittest.NewSampler(uint64(i))
		sampler.Full = i%2 == 0
		body := sampler.Text(e.Fields)
		canonical, err := jcs.Transform(body)
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, sample{e.GoName, e.Name, e.Version, body, string(canonical)})
	}
	raw, err := json.Marshal(samples)
	if err != nil {
		t.Fatal(err)
	}
	c.write(t, "way/testdata/samples.json", raw)
	var program bytes.Buffer
	if err := wayTemplate.Execute(&program, s.Events); err != nil {
		t.Fatal(err)
	}
	c.write(t, "way/way_test.go", program.Bytes())

	c.run(t, "go", "vet", "./...")
	out := c.run(t, "go", "test", "-count=1", "-v", "./way")
	if !strings.Contains(out, "--- PASS: TestWay") {
		t.Errorf("the test did not run:\n%s", out)
	}
	if soak {
		path, err := exec.Command("go", "tool", "-n", "staticcheck").Output()
		if err != nil {
			t.Fatalf("go tool -n staticcheck: %v", err)
		}
		c.run(t, strings.TrimSpace(string(path)), "./...")
	}
}

var wayTemplate = template.Must(template.ParseFiles("testdata/way_test.go.tmpl"))
