package emit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dave/jennifer/jen"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
	"github.com/outboxgen/outboxgen/runtime/canonical"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/payload"
)

// textLit is a string literal, in backquotes where that is easier to read.
func textLit(s string) *jen.Statement {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if strings.ContainsAny(s, `"\`) && strconv.CanBackquote(s) && !strings.ContainsFunc(s, unprintable) {
		return jen.Op("`" + s + "`")
	}
	return jen.Lit(s)
}

// encodedName is the literal of a member's name as canonical JSON with the
// colon.
func (g *generator) encodedName(wire string) *jen.Statement {
	encoded, err := canonical.AppendString(nil, wire)
	g.check(err)
	return textLit(string(encoded) + ":")
}

// durationLit writes a duration as a person would: 10 * time.Second.
func durationLit(d time.Duration) *jen.Statement {
	if d == 0 {
		return jen.Lit(0)
	}
	for _, u := range []struct {
		unit time.Duration
		name string
	}{
		{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"},
		{time.Millisecond, "Millisecond"}, {time.Microsecond, "Microsecond"},
	} {
		switch {
		case d == u.unit:
			return jen.Qual("time", u.name)
		case d%u.unit == 0:
			return jen.Lit(int(d/u.unit)).Op("*").Qual("time", u.name)
		}
	}
	return jen.Lit(int(d)).Op("*").Qual("time", "Nanosecond")
}

// bound is the literal of a min or max of the scalar type.
func (g *generator) bound(scalar spec.Scalar, text string) *jen.Statement {
	switch scalar {
	case spec.Int, spec.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		g.check(err)
		return jen.Lit(int(n))
	case spec.Float:
		f, err := strconv.ParseFloat(text, 64)
		g.check(err)
		return jen.Lit(f)
	case spec.Decimal:
		canonicalText, err := payload.CanonicalDecimal(text)
		g.check(err)
		return jen.Lit(canonicalText)
	case spec.Timestamp:
		t, err := time.Parse(time.RFC3339Nano, text)
		g.check(err)
		t = t.UTC()
		return jen.Qual("time", "Date").Call(
			jen.Lit(t.Year()), jen.Qual("time", t.Month().String()), jen.Lit(t.Day()),
			jen.Lit(t.Hour()), jen.Lit(t.Minute()), jen.Lit(t.Second()), jen.Lit(t.Nanosecond()), jen.Qual("time", "UTC"))
	case spec.Date:
		d, err := outbox.ParseDate(text)
		g.check(err)
		return jen.Qual(outboxPath, "Date").Values(
			jen.Id("Year").Op(":").Lit(d.Year), jen.Id("Month").Op(":").Qual("time", d.Month.String()), jen.Id("Day").Op(":").Lit(d.Day))
	case spec.Duration:
		d, err := time.ParseDuration(text)
		g.check(err)
		return durationLit(d)
	}
	g.check(fmt.Errorf("type %s has no bounds", scalar))
	return jen.Null()
}
