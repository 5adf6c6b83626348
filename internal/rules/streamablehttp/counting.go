package streamablehttp

import "strconv"

const (
	// leastCounted is how many ids in a row must count up not to do so by chance.
	leastCounted = 3
	// mostStep is by how much one of them exceeds the one before, at most: what
	// other clients of the server are given lies between.
	mostStep = 1000
)

// doCountUp reports whether the ids, in the order in which they were given, are
// alike but for a number that grows by small steps. Whatever is random, or
// signed, in one of them makes them unlike.
func doCountUp(ids []string) bool {
	if len(ids) < leastCounted {
		return false
	}
	for i := range ids[1:] {
		if step, ok := stepBetween(ids[i], ids[i+1]); !ok || step > mostStep {
			return false
		}
	}
	return true
}

// stepBetween returns by how much the number in b exceeds that in a, where it is
// all in which they differ.
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
	before, err1 := strconv.ParseUint("0"+a[:la], base, 64) // the shorter one may be the beginning of the other
	after, err2 := strconv.ParseUint("0"+b[:lb], base, 64)
	return after - before, err1 == nil && err2 == nil && after > before
}

// countHexDigits returns how many hexadecimal digits the text begins with.
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
