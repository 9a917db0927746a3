package emit

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

func TestECMAPattern(t *testing.T) {
	for re2, want := range map[string]string{
		`^[a-z]+$`:            `^[a-z]+$`,
		`\d{3}-\w*?x`:         `[0-9]{3}-[0-9A-Z_a-z]*?x`,
		`\A(?P<n>ab|c)*\z`:    `^(?:ab|c)*$`,
		`(?i)ab`:              `[Aa][Bb]`,
		`.`:                   `[^\n]`,
		`(?s).`:               `[\s\S]`,
		`(?m)^a$`:             `(?<![^\n])a(?![^\n])`,
		`\Qa.b\E`:             `a\.b`,
		`[[:alpha:]é]`:        `[A-Za-zé]`,
		`[^a-z]`:              `[^a-z]`,
		`[\]^\-\\]`:           `[\-\\-\^]`,
		`a|b|`:                `[ab]|(?:)`,
		`(?:ab){2,}(c?){1,2}`: `(?:ab){2,}(?:c?){1,2}`,
		`[\x00-\x{10FFFF}]`:   `[\s\S]`,
		`x{0,5}`:              `x{0,5}`,
		`\bfoo\B`:             `\bfoo\B`,
		`\x{1F600}`:           `😀`,
		`/`:                   `\/`,
		``:                    `(?:)`,
	} {
		have, err := ecmaPattern(re2)
		if err != nil || have != want {
			t.Errorf("%s: have %s, %v; want %s", re2, have, err, want)
		}
	}
}

// TestECMAPattern_MatchesTheSame compares on RE2, which reads most of what is
// written.
func TestECMAPattern_MatchesTheSame(t *testing.T) {
	atom := rapid.SampledFrom([]string{
		"a", "b", "(?i:k)", ".", `\d`, `\W`, `[a-c]`, `[^ab]`, `\.`, `\s`, `(a|bc)`, `(?:a|)`, `[[:upper:]]`, `é`, `\pL`, `[^\n]`, `^`, `$`, `\b`, `[\x00-\x{10FFFF}]`, `-`, `\/`,
	})
	suffix := rapid.SampledFrom([]string{"", "", "", "*", "+?", "{2}", "?", "{1,3}"})
	rapid.Check(t, func(t *rapid.T) {
		pattern := ""
		for range rapid.IntRange(0, 5).Draw(t, "atoms") {
			pattern += atom.Draw(t, "atom") + suffix.Draw(t, "suffix")
			if rapid.IntRange(0, 5).Draw(t, "alternative") == 0 {
				pattern += "|"
			}
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			t.Skip()
		}
		translated, err := ecmaPattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		ecma, err := regexp.Compile(translated)
		if err != nil {
			t.Fatalf("%s became %s: %v", pattern, translated, err)
		}
		text := rapid.StringOf(rapid.RuneFrom([]rune("abckKABC\u212A1 .-é\n/_"))).Draw(t, "text")
		if re.MatchString(text) != ecma.MatchString(text) {
			t.Fatalf("%s and %s differ on %q", pattern, translated, text)
		}
	})
}
