package outbox

import (
	"fmt"
	"time"
)

// Date is a day of the proleptic Gregorian calendar without a time or a zone;
// on the wire "2026-01-31" (RFC 3339 full-date).
type Date struct {
	Year  int // 0 to 9999
	Month time.Month
	Day   int
}

// DateOf is the day of t in t's own location.
func DateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date{y, m, d}
}

// ParseDate reads "2026-01-31" and nothing else.
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || len(s) != len(time.DateOnly) {
		return Date{}, fmt.Errorf("outbox: %q is no date: write it as 2026-01-31", s)
	}
	return DateOf(t), nil
}

// Validate reports a day that the calendar does not have, or a year that four
// digits cannot write. The zero Date is not valid.
func (d Date) Validate() error {
	if d.Year < 0 || d.Year > 9999 {
		return fmt.Errorf("outbox: date has year %d, outside 0 to 9999", d.Year)
	}
	if DateOf(d.In(time.UTC)) != d {
		return fmt.Errorf("outbox: there is no day %d of month %d in the year %d", d.Day, d.Month, d.Year)
	}
	return nil
}

// In is the start of the day in loc.
func (d Date) In(loc *time.Location) time.Time {
	return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, loc)
}

// String is the date as it stands on the wire.
func (d Date) String() string {
	return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day)
}

// AppendCanonical appends the date as a JSON string; a date that is not valid
// is an error.
func (d Date) AppendCanonical(dst []byte) ([]byte, error) {
	if err := d.Validate(); err != nil {
		return dst, err
	}
	return append(dst, '"',
		byte('0'+d.Year/1000), byte('0'+d.Year/100%10), byte('0'+d.Year/10%10), byte('0'+d.Year%10), '-',
		byte('0'+d.Month/10), byte('0'+d.Month%10), '-',
		byte('0'+d.Day/10), byte('0'+d.Day%10), '"'), nil
}

// MarshalText implements encoding.TextMarshaler.
func (d Date) MarshalText() ([]byte, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return []byte(d.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Date) UnmarshalText(text []byte) error {
	parsed, err := ParseDate(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}
