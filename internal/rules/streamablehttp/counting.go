package streamablehttp

import "strconv"

const (
	// minSequential is the number of consecutive ids that must count up to rule out chance.
	minSequential = 3
	// maxStep is the maximum difference of consecutive ids. It is more than 1, because other
	// clients of the server may get ids in between.
	maxStep = 1000
)

// areSequential reports whether the ids, in the order in which they were assigned, differ only in a
// number that grows by small steps. A random or signed part makes them differ in more than that.
func areSequential(ids []string) bool {
	if len(ids) < minSequential {
		return false
	}
	for i := range ids[1:] {
		if step, ok := stepBetween(ids[i], ids[i+1]); !ok || step > maxStep {
			return false
		}
	}
	return true
}

// stepBetween returns by how much the number in the second id exceeds the number in the first. It
// returns false if the second number is not greater, or if the ids differ in anything else.
func stepBetween(a, b string) (uint64, bool) {
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	a, b = a[same:], b[same:]
	la, lb := countHexDigits(a), countHexDigits(b)
	if a[la:] != b[lb:] {
		return 0, false
	}
	base := 16
	if isDecimalNumber(a[:la]) && isDecimalNumber(b[:lb]) {
		base = 10
	}
	before, err1 := strconv.ParseUint("0"+a[:la], base, 64) // if one number is a prefix of the other, no digits of it are left
	after, err2 := strconv.ParseUint("0"+b[:lb], base, 64)
	return after - before, err1 == nil && err2 == nil && after > before
}

// countHexDigits returns the number of leading hexadecimal digits.
func countHexDigits(text string) int {
	n := 0
	for n < len(text) && (isDecimal(text[n]) || text[n] >= 'a' && text[n] <= 'f' || text[n] >= 'A' && text[n] <= 'F') {
		n++
	}
	return n
}

func isDecimalNumber(text string) bool {
	for i := range len(text) {
		if !isDecimal(text[i]) {
			return false
		}
	}
	return true
}

func isDecimal(c byte) bool { return c >= '0' && c <= '9' }
