package generate

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// lineLengths are line lengths at the limits of common buffers.
var lineLengths = []int{
	127, 128, 129, 255, 256, 257, 511, 512, 513, 1000, 1023, 1024, 1025, 1460, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193, 16384, 32768, 65535, 65536, 65537,
}

// These are the ways to make a message longer: spaces around it, or a string of
// one-byte or two-byte characters in it.
const (
	blanks = iota
	narrowText
	wideText
	fillings // the number of ways
)

func (o *Offer) sizeCombinations() int { return len(lineLengths) * fillings * len(o.Requests()) }

// sizeCombination adds a request with a given line length, unless the request is longer already.
func (m *maker) sizeCombination(conversation, number int) {
	size, filling, method := lineLengths[number%len(lineLengths)], number/len(lineLengths)%fillings, m.requests[number/len(lineLengths)/fillings]
	m.addRequestWithEmptyMeta(conversation, method)
	last := &m.out[len(m.out)-1]
	one := &wire.Parse(last.Message).Messages[0]
	message := script.Message{ID: one.ID, Method: one.Method, Params: one.Params()}
	if lack := size - len(padMessage(message, filling, 0)); lack >= 0 {
		last.Message = padMessage(message, filling, lack)
	}
}

// padMessage returns the message, made longer in the way that filling selects. The result is n
// bytes longer than it would be for n = 0.
func padMessage(m script.Message, filling, n int) script.Bytes {
	switch {
	case filling == blanks:
		return append(append(script.Bytes(strings.Repeat(" ", n)), m.Bytes()...), ' ')
	case filling == wideText && n%2 == 0:
		m.Params = withMeta(m.Params, paddingMeta(strings.Repeat("é", n/2)))
	default:
		m.Params = withMeta(m.Params, paddingMeta(strings.Repeat("x", n)))
	}
	return m.Bytes()
}

func paddingMeta(text string) jsontext.Value {
	return jsontext.Value(`{"example.com/filling":"` + text + `"}`)
}

func withMeta(params, meta jsontext.Value) jsontext.Value {
	if params == nil {
		return jsontext.Value(`{"_meta":` + string(meta) + `}`)
	}
	return withMember(params, "_meta", meta)
}
