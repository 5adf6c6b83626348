package client

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A spreadResponse collects a response that the server spreads over several lines, although the
// stdio transport forbids that.
type spreadResponse struct{ text wire.Spread }

// longestSpread limits the bytes that are kept.
const longestSpread = 1 << 20

// complete adds the line of an event, and reports whether it ends a response.
func (s *spreadResponse) complete(e *transcript.Event) bool {
	isMessage := func(m wire.Message) bool { return m.Kind != wire.Invalid }
	switch {
	case e.Kind != transcript.Received || e.Exchange != 0:
		return false
	case slices.ContainsFunc(e.Messages(), isMessage), len(s.text.Text())+len(e.Raw) > longestSpread:
		s.text = wire.Spread{}
		return false
	case s.text.IsEmpty() && !wire.OpensSpread(e.Raw):
		return false
	}
	if s.text.Add(e.Raw); s.text.IsOpen() {
		return false
	}
	f := wire.Parse(s.text.Text())
	s.text = wire.Spread{}
	return slices.ContainsFunc(f.Messages, func(m wire.Message) bool { return m.Kind == wire.Response })
}
