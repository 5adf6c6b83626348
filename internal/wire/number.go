package wire

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// longestInRange is a length in bytes. Any number of at most this length and without an exponent is
// in the range of a double.
const longestInRange = 300

// HasNumberOutOfRange reports whether v contains a number whose magnitude is too large or, without
// being zero, too small for an IEEE 754 double. RFC 8259 allows parsers to refuse such numbers.
func HasNumberOutOfRange(v jsontext.Value) bool {
	for i := 0; i < len(v); {
		switch b := v[i]; {
		case b == '"':
			i = stringEnd(v, i)
		case b == '-' || b >= '0' && b <= '9':
			end := valueEnd(v, i)
			if exceedsDouble(v[i:end]) {
				return true
			}
			i = end
		default:
			i++
		}
	}
	return false
}

func exceedsDouble(number []byte) bool {
	exponent := bytes.IndexAny(number, "eE")
	if exponent < 0 && len(number) <= longestInRange {
		return false
	}
	f, err := strconv.ParseFloat(string(number), 64)
	if exponent < 0 {
		exponent = len(number)
	}
	return err != nil || f == 0 && bytes.ContainsAny(number[:exponent], "123456789")
}
