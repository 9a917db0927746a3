package main

import "testing"

func TestExcerpt_PointsAtTheColumn(t *testing.T) {
	long := make([]byte, 0, 400)
	for range 40 {
		long = append(long, "0123456789"...)
	}
	for _, c := range []struct {
		name   string
		line   string
		column int
		want   string
	}{
		{"first column", "kynd: webhook", 1, "    7 | kynd: webhook\n      | ^\n"},
		{"code points, not bytes", "ü: ñ", 4, "    7 | ü: ñ\n      |    ^\n"},
		{"a tab is one column", "\tx", 2, "    7 |  x\n      |  ^\n"},
		{"a control character is as wide as its escape", "\x1bx", 2, "    7 | \\x1bx\n      |     ^\n"},
		{"beyond the end", "ab\r", 9, "    7 | ab\n      |   ^\n"},
		{"a long line is cut around the column", string(long), 201,
			"    7 | …012345678901234567890123456789012345678901234567890123456789" +
				"012345678901234567890123456789012345678901234567890123456789…\n" +
				"      |                                                              ^\n"},
	} {
		if got := excerpt(c.line, 7, c.column); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
