package outbox

import (
	"encoding/json"
	"testing"
	"time"
)

func TestDate_ReadsAndWritesOneSpelling(t *testing.T) {
	for _, s := range []string{"2026-01-31", "2024-02-29", "0000-01-01", "9999-12-31", "0999-10-09"} {
		d, err := ParseDate(s)
		if err != nil || d.String() != s {
			t.Errorf("%s: %v, %v", s, d, err)
		}
		b, err := d.AppendCanonical([]byte("x"))
		if err != nil || string(b) != `x"`+s+`"` {
			t.Errorf("%s: %s, %v", s, b, err)
		}
		j, err := json.Marshal(d)
		var back Date
		if err != nil || string(j) != `"`+s+`"` || json.Unmarshal(j, &back) != nil || back != d {
			t.Errorf("%s: %s, %v, %v", s, j, err, back)
		}
	}
}

func TestDate_RefusesWhatIsNoDay(t *testing.T) {
	for _, s := range []string{"", "2026-1-31", "2026-02-29", "2026-13-01", "2026-00-10", "2026-01-00", "10000-01-01", "-001-01-01", "2026-01-31T00:00:00Z", " 2026-01-31", "2026/01/31", "２026-01-31"} {
		if d, err := ParseDate(s); err == nil {
			t.Errorf("%q: %v", s, d)
		}
	}
	for _, d := range []Date{{}, {2026, 2, 29}, {10000, 1, 1}, {-1, 1, 1}, {2026, 13, 1}, {2026, 1, 32}} {
		if err := d.Validate(); err == nil {
			t.Errorf("%+v is valid", d)
		}
		if b, err := d.AppendCanonical(nil); err == nil {
			t.Errorf("%+v: %s", d, b)
		}
		if b, err := json.Marshal(d); err == nil {
			t.Errorf("%+v: %s", d, b)
		}
	}
}

func TestDateOf_IsTheDayInTheTimesOwnLocation(t *testing.T) {
	late := time.Date(2026, 1, 31, 23, 30, 0, 0, time.FixedZone("", -3600))
	if d := DateOf(late); d != (Date{2026, 1, 31}) {
		t.Errorf("got %v", d)
	}
	if got := (Date{2026, 1, 31}).In(time.UTC); !got.Equal(time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("got %v", got)
	}
}
