package wire

import "testing"

func TestErrorCode(t *testing.T) {
	for code, want := range map[string]int64{
		`-32601`: -32601, `-32601.0`: -32601, `"-32601"`: -32601, `"-3.2601e4"`: -32601,
		`"no code"`: 0, `""`: 0, `" -1"`: -1, `-32601.5`: 0, `null`: 0, `["-32601"]`: 0, `true`: 0,
	} {
		m := Parse([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":` + code + `,"message":"m"}}`)).Messages[0]
		if got, ok := m.ErrorCode(); got != want || ok != (want != 0) {
			t.Errorf("%s: %d, %v; want %d", code, got, ok, want)
		}
	}
}
