package client

import (
	"bytes"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// spreadLines holds the lines of a JSON object that the server spreads over several lines, as it
// may not over stdio.
type spreadLines []byte

// longestSpread limits the lines that are kept.
const longestSpread = 1 << 20

// completeResponse adds the line of an event, and reports whether it ends a response.
func (s *spreadLines) completeResponse(e *transcript.Event) bool {
	isMessage := slices.ContainsFunc(e.Messages(), func(m wire.Message) bool { return m.Kind != wire.Invalid })
	if e.Kind != transcript.Received || e.Exchange != 0 || isMessage || len(*s)+len(e.Raw) > longestSpread {
		return false
	}
	if bytes.HasPrefix(e.Raw, []byte("{")) {
		*s = nil
	}
	*s = append(*s, bytes.TrimSpace(e.Raw)...)
	if !bytes.HasPrefix(e.Raw, []byte("}")) {
		return false
	}
	messages := wire.Parse(*s).Messages
	return len(messages) == 1 && messages[0].Kind == wire.Response
}
