package client

import (
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func TestSpreadResponse(t *testing.T) {
	for _, x := range []struct {
		name, lines string
		want        bool
	}{
		{"a response", "{\n \"jsonrpc\": \"2.0\",\n \"id\": 1,\n \"result\": {\n  \"tools\": [\n   \"text\"\n  ]\n }\n}", true},
		{"after a banner", "ready\n{\n \"jsonrpc\": \"2.0\",\n \"id\": 1,\n \"result\": {}\n}", true},
		{"whose brackets are indented", "{ \"jsonrpc\": \"2.0\", \"id\": 1,\n  \"result\": {\n  }\n  }", true},
		{"after a log", "{\n \"level\": 30\n}\n{\n \"jsonrpc\": \"2.0\",\n \"id\": 1,\n \"result\": {}\n}", true},
		{"a log", "{\n \"level\": 30,\n \"msg\": \"ready\"\n}", false},
		{"a part of a response", "{\n \"jsonrpc\": \"2.0\",\n \"id\": 1,", false},
		{"a response in one line", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			var s multilineResponse
			got := false
			for line := range strings.Lines(x.lines) {
				raw := []byte(strings.TrimSuffix(line, "\n"))
				frame := wire.Parse(raw)
				got = s.addLine(&transcript.Event{Kind: transcript.Received, Raw: raw, Frame: frame})
			}
			if got != x.want {
				t.Errorf("the last line ends a response: %v, want %v", got, x.want)
			}
		})
	}
}
