package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// report gathers what was measured.
type report struct {
	figures []figure
	reaches []reach
}

// figure is a median with its unit, for orientation.
type figure struct{ what, subject, value string }

// reach is a ratio within this run, and what it should be.
type reach struct {
	what  string
	ratio float64
	want  float64
	most  bool // the ratio should be at most want, not at least
}

func (r *report) rate(what, subject string, perSecond float64) {
	r.figures = append(r.figures, figure{what, subject, fmt.Sprintf("%.0f/s", perSecond)})
}

func (r *report) duration(what, subject string, d time.Duration) {
	r.figures = append(r.figures, figure{what, subject, d.Round(time.Microsecond).String()})
}

func (r *report) value(what, subject, format string, args ...any) {
	r.figures = append(r.figures, figure{what, subject, fmt.Sprintf(format, args...)})
}

func (r *report) atLeast(what string, ratio, want float64) {
	r.reaches = append(r.reaches, reach{what, ratio, want, false})
}

func (r *report) atMost(what string, ratio, want float64) {
	r.reaches = append(r.reaches, reach{what, ratio, want, true})
}

func (r *report) print(w io.Writer) {
	fmt.Fprint(w, "| what | measured | wanted | |\n|---|---|---|---|\n")
	for _, x := range r.reaches {
		sign, ok := "≥", x.ratio >= x.want
		if x.most {
			sign, ok = "≤", x.ratio <= x.want
		}
		verdict := "reached"
		if !ok {
			verdict = "missed"
		}
		fmt.Fprintf(w, "| %s | %.2f | %s %.2f | %s |\n", x.what, x.ratio, sign, x.want, verdict)
	}
	fmt.Fprint(w, "\n| measured | subject | median |\n|---|---|---|\n")
	for _, f := range r.figures {
		fmt.Fprintf(w, "| %s | %s | %s |\n", f.what, f.subject, f.value)
	}
}

func median[T float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func percentile(values []time.Duration, p float64) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}
