package canonical

// Less reports whether the member name a stands before b in an object:
// RFC 8785, section 3.2.3, orders names by their UTF-16 code units. That is
// the order of Go strings except that characters above U+FFFF, whose first
// unit is a surrogate, stand before U+E000 to U+FFFF. Both must be valid
// UTF-8.
func Less(a, b string) bool { return compare(a, b) < 0 }

func compare[T string | []byte](a, b T) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			if before(a[i], b[i]) {
				return -1
			}
			return 1
		}
	}
	return len(a) - len(b)
}

// before orders the first different bytes of two UTF-8 texts by UTF-16 code
// units. Only lead bytes can disagree with the byte order: 0xF0 and above
// begin the characters above U+FFFF, 0xEE and 0xEF those from U+E000 to
// U+FFFF.
func before(x, y byte) bool {
	if x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0) {
		return x >= 0xF0
	}
	return x < y
}
