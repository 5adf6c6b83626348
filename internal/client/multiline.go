package client

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A multilineResponse collects a response that the server writes on several lines, although the
// stdio transport forbids that.
type multilineResponse struct{ text wire.MultilineJSON }

// maxMultiline limits how many bytes of an unfinished response are kept.
const maxMultiline = 1 << 20

// addLine adds the line of an event, and reports whether the line completes a response.
func (s *multilineResponse) addLine(e *transcript.Event) bool {
	isMessage := func(m wire.Message) bool { return m.Kind != wire.Invalid }
	switch {
	case e.Kind != transcript.Received || e.Exchange != 0:
		return false
	case slices.ContainsFunc(e.Messages(), isMessage), len(s.text.Text())+len(e.Raw) > maxMultiline:
		s.text = wire.MultilineJSON{}
		return false
	case s.text.IsEmpty() && !wire.OpensMultilineJSON(e.Raw):
		return false
	}
	if s.text.Add(e.Raw); s.text.IsOpen() {
		return false
	}
	f := wire.Parse(s.text.Text())
	s.text = wire.MultilineJSON{}
	return slices.ContainsFunc(f.Messages, func(m wire.Message) bool { return m.Kind == wire.Response })
}
