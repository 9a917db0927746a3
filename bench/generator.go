package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gowebpki/jcs"
	"github.com/outboxgen/outboxgen/bench/events"
)

// plainWide is OrderWide as encoding/json would have it.
type plainWide struct {
	OrderID       uuid.UUID `json:"order_id"`
	CustomerEmail string    `json:"customer_email"`
	CustomerName  string    `json:"customer_name"`
	Street        string    `json:"street"`
	City          string    `json:"city"`
	PostalCode    string    `json:"postal_code"`
	Country       string    `json:"country"`
	PlacedAt      time.Time `json:"placed_at"`
	PaidAt        time.Time `json:"paid_at"`
	ItemCount     int64     `json:"item_count"`
	TotalCents    int64     `json:"total_cents,string"`
	WeightKg      float64   `json:"weight_kg"`
	Gift          bool      `json:"gift"`
	Express       bool      `json:"express"`
	Channel       string    `json:"channel"`
	Note          string    `json:"note"`
	Coupon        string    `json:"coupon"`
	Tags          []string  `json:"tags"`
	Warehouse     int64     `json:"warehouse"`
	Score         float64   `json:"score"`
}

func measureCanonical(_ context.Context, r *report) error {
	at := time.Date(2026, 1, 31, 12, 30, 15, 250_000_000, time.UTC)
	plain := plainWide{
		OrderID: uuid.MustParse("0190d67a-d8da-76d4-8fb8-ded870d69151"), CustomerEmail: "ada@example.org", CustomerName: "Ada Lovelace",
		Street: "12 St James's Square", City: "London", PostalCode: "SW1Y 4JH", Country: "GB", PlacedAt: at, PaidAt: at.Add(time.Minute),
		ItemCount: 3, TotalCents: 1250, WeightKg: 1.25, Gift: true, Channel: "web", Note: "ring twice", Coupon: "SPRING",
		Tags: []string{"new", "eu"}, Warehouse: 7, Score: 0.875,
	}
	wide := events.OrderWide{
		OrderID: plain.OrderID, CustomerEmail: plain.CustomerEmail, CustomerName: plain.CustomerName, Street: plain.Street, City: plain.City,
		PostalCode: plain.PostalCode, Country: plain.Country, PlacedAt: at, PaidAt: plain.PaidAt, ItemCount: 3, TotalCents: 1250,
		WeightKg: 1.25, Gift: true, Channel: "web", Note: plain.Note, Coupon: plain.Coupon, Tags: plain.Tags, Warehouse: 7, Score: 0.875,
	}
	theirs, err := json.Marshal(plain)
	if err != nil {
		return err
	}
	if theirs, err = jcs.Transform(theirs); err != nil {
		return err
	}
	ours, err := wide.AppendCanonical(nil)
	if err != nil {
		return err
	}
	if string(ours) != string(theirs) {
		return fmt.Errorf("the two encodings differ:\n%s\n%s", ours, theirs)
	}
	var mine, other []float64
	var allocs int64
	for range *rounds {
		m := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := wide.AppendCanonical(make([]byte, 0, 1024)); err != nil {
					b.Fatal(err)
				}
			}
		})
		o := testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				text, err := json.Marshal(plain)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := jcs.Transform(text); err != nil {
					b.Fatal(err)
				}
			}
		})
		mine, other, allocs = append(mine, float64(m.NsPerOp())), append(other, float64(o.NsPerOp())), m.AllocsPerOp()
	}
	r.value("canonical encoding of a 20-field event", "outboxgen", "%.0f ns, %d allocations", median(mine), allocs)
	r.value("canonical encoding of a 20-field event", "encoding/json + jcs", "%.0f ns", median(other))
	r.atLeast("canonical encoding: of json.Marshal + jcs.Transform", median(other)/median(mine), 5)
	r.atMost("canonical encoding: allocations", float64(allocs), 1)
	return nil
}

func measureGenerate(ctx context.Context, r *report) error {
	return inDir(func(dir string) error {
		binary := *generator
		if binary == "" {
			binary = filepath.Join(dir, "outboxgen")
			build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/outboxgen/outboxgen/cmd/outboxgen")
			if out, err := build.CombinedOutput(); err != nil {
				return fmt.Errorf("build the generator: %w\n%s", err, out)
			}
		}
		version, err := wall(ctx, binary, "version")
		if err != nil {
			return err
		}
		r.duration("outboxgen version", "outboxgen", version)
		perEvent := map[int]float64{}
		for _, n := range []int{10, 100, 1000, 5000} {
			folder := filepath.Join(dir, fmt.Sprint(n))
			if err := os.Mkdir(folder, 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, "events.yaml"), []byte(largeSpec(n)), 0o644); err != nil {
				return err
			}
			took, err := wall(ctx, binary, "generate", "-C", folder)
			if err != nil {
				return err
			}
			r.duration(fmt.Sprintf("generate %d events", n), "outboxgen", took)
			perEvent[n] = float64(took-version) / float64(n)
			if n == 100 {
				r.atMost("generate 100 events: of 3 × version + 100 ms", ratio(took, 3*version+100*time.Millisecond), 1)
			}
		}
		r.atMost("generate: time an event at 5,000, of that at 1,000", perEvent[5000]/perEvent[1000], 1.5)
		return nil
	})
}

// wall is the median wall time of the command; files written before are
// removed each time.
func wall(ctx context.Context, binary string, args ...string) (time.Duration, error) {
	var took []time.Duration
	for range *rounds {
		if args[0] == "generate" {
			old, err := filepath.Glob(filepath.Join(args[2], "*.gen.go"))
			if err != nil {
				return 0, err
			}
			for _, f := range old {
				if err := os.Remove(f); err != nil {
					return 0, err
				}
			}
		}
		started := time.Now()
		if out, err := exec.CommandContext(ctx, binary, args...).CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%s %s: %w\n%s", binary, strings.Join(args, " "), err, out)
		}
		took = append(took, time.Since(started))
	}
	return median(took), nil
}

func largeSpec(n int) string {
	var b strings.Builder
	b.WriteString("version: 1\npackage: events\nsource: /bench\ndefaults: {idempotency: event}\ndestinations:\n  audit: {kind: handler}\nevents:\n")
	for i := range n {
		fmt.Fprintf(&b, "  thing%d.happened:\n    doc: The thing number %d happened.\n    to: [audit]\n    ordering_key: id\n    fields:\n"+
			"      id: uuid\n      name: {type: string, max_length: 100}\n      amount: decimal\n      at: timestamp\n      note: string?\n      tags: [string]\n", i, i)
	}
	return b.String()
}
