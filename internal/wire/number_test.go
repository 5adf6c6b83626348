package wire

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestOutOfRange(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":[1,{"b":1e309}]}`:               true,
		`-1e309`:                              true,
		`1E1000`:                              true,
		`{"a":1e-400}`:                        true,
		strings.Repeat("9", 400):              true,
		"0." + strings.Repeat("0", 400) + "1": true,
		`{"a":1.7976931348623157e308,"b":[5e-324,-0]}`: false,
		`{"a":9007199254740993,"b":0e-999}`:            false,
		`{"1e309":"1e309","\"":"\\","c":"\"1e309"}`:    false,
		strings.Repeat("9", 300):                       false,
		"0." + strings.Repeat("0", 400):                false,
		``:                                             false,
	} {
		if got := HasNumberOutOfRange(jsontext.Value(text)); got != want {
			t.Errorf("%.60s: %v", text, got)
		}
	}
}
