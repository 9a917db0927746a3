package emit

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// ecmaPattern writes an RE2 pattern in the syntax of ECMA-262, which JSON
// Schema has (2020-12, core, section 6.4), for the same texts: flags, named
// groups, \A, \z, \Q…\E and named classes are RE2's alone, and a dot and \s mean
// more there. Characters stand as they are and not as \u escapes, so that
// validators which hand patterns to RE2 or PCRE understand them too.
func ecmaPattern(pattern string) (string, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = writeECMA(&b, re)
	return b.String(), err
}

func writeECMA(b *strings.Builder, re *syntax.Regexp) error {
	switch re.Op {
	case syntax.OpNoMatch:
		b.WriteString(`[^\s\S]`)
	case syntax.OpEmptyMatch:
		b.WriteString(`(?:)`)
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			writeECMALiteral(b, r, re.Flags&syntax.FoldCase != 0)
		}
	case syntax.OpCharClass:
		writeECMAClass(b, re.Rune)
	case syntax.OpAnyCharNotNL:
		b.WriteString(`[^\n]`)
	case syntax.OpAnyChar:
		b.WriteString(`[\s\S]`)
	case syntax.OpBeginLine:
		b.WriteString(`(?<![^\n])`)
	case syntax.OpEndLine:
		b.WriteString(`(?![^\n])`)
	case syntax.OpBeginText:
		b.WriteByte('^')
	case syntax.OpEndText:
		b.WriteByte('$')
	case syntax.OpWordBoundary:
		b.WriteString(`\b`)
	case syntax.OpNoWordBoundary:
		b.WriteString(`\B`)
	case syntax.OpCapture:
		return writeECMAGroup(b, re.Sub[0])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		return writeECMARepeat(b, re)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if sub.Op == syntax.OpAlternate {
				if err := writeECMAGroup(b, sub); err != nil {
					return err
				}
				continue
			}
			if err := writeECMA(b, sub); err != nil {
				return err
			}
		}
	case syntax.OpAlternate:
		for i, sub := range re.Sub {
			if i > 0 {
				b.WriteByte('|')
			}
			if err := writeECMA(b, sub); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("pattern %s: no ECMA-262 form", re)
	}
	return nil
}

func writeECMAGroup(b *strings.Builder, re *syntax.Regexp) error {
	b.WriteString("(?:")
	err := writeECMA(b, re)
	b.WriteByte(')')
	return err
}

func writeECMARepeat(b *strings.Builder, re *syntax.Regexp) error {
	sub := re.Sub[0]
	single := sub.Op == syntax.OpCharClass || sub.Op == syntax.OpAnyChar || sub.Op == syntax.OpAnyCharNotNL || sub.Op == syntax.OpCapture ||
		sub.Op == syntax.OpLiteral && len(sub.Rune) == 1
	write := writeECMAGroup
	if single {
		write = writeECMA
	}
	if err := write(b, sub); err != nil {
		return err
	}
	switch {
	case re.Op == syntax.OpStar:
		b.WriteByte('*')
	case re.Op == syntax.OpPlus:
		b.WriteByte('+')
	case re.Op == syntax.OpQuest:
		b.WriteByte('?')
	case re.Max < 0:
		fmt.Fprintf(b, "{%d,}", re.Min)
	case re.Max == re.Min:
		fmt.Fprintf(b, "{%d}", re.Min)
	default:
		fmt.Fprintf(b, "{%d,%d}", re.Min, re.Max)
	}
	if re.Flags&syntax.NonGreedy != 0 {
		b.WriteByte('?')
	}
	return nil
}

// writeECMALiteral writes one character, or with fold the class of those that
// differ from it by case only.
func writeECMALiteral(b *strings.Builder, r rune, fold bool) {
	same := []rune{r}
	if fold {
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			same = append(same, other)
		}
	}
	if len(same) == 1 {
		writeECMARune(b, r, `\^$.*+?()[]{}|/`)
		return
	}
	slices.Sort(same)
	b.WriteByte('[')
	for _, r := range same {
		writeECMARune(b, r, `\^[]-`)
	}
	b.WriteByte(']')
}

// writeECMAClass writes the class of the ranges, which are pairs.
func writeECMAClass(b *strings.Builder, ranges []rune) {
	if len(ranges) == 2 && ranges[0] == 0 && ranges[1] == unicode.MaxRune {
		b.WriteString(`[\s\S]`)
		return
	}
	b.WriteByte('[')
	if n := len(ranges); n > 0 && ranges[0] == 0 && ranges[n-1] == unicode.MaxRune {
		// Shorter by what is not in it.
		b.WriteByte('^')
		var gaps []rune
		for i := 1; i+1 < n; i += 2 {
			gaps = append(gaps, ranges[i]+1, ranges[i+1]-1)
		}
		ranges = gaps
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		low, high := ranges[i], ranges[i+1]
		writeECMARune(b, low, `\^[]-`)
		if high > low+1 {
			b.WriteByte('-')
		}
		if high > low {
			writeECMARune(b, high, `\^[]-`)
		}
	}
	b.WriteByte(']')
}

func writeECMARune(b *strings.Builder, r rune, special string) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	default:
		if strings.ContainsRune(special, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
}
