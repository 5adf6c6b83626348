package wire

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// longestInRange is how many characters a number may have that is in range
// whatever they are, as long as it has no exponent.
const longestInRange = 300

// OutOfRange reports whether a number stands in v that is too large or too small
// for a double of IEEE 754. RFC 8259 lets who reads JSON refuse such a one.
func OutOfRange(v jsontext.Value) bool {
	for i := 0; i < len(v); {
		switch b := v[i]; {
		case b == '"':
			i = stringEnd(v, i)
		case b == '-' || b >= '0' && b <= '9':
			end := valueEnd(v, i)
			if beyondDouble(v[i:end]) {
				return true
			}
			i = end
		default:
			i++
		}
	}
	return false
}

func beyondDouble(number []byte) bool {
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
