package engine

import (
	"fmt"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// longestLabel is the maximum length of a label in bytes.
const longestLabel = 80

// labelEvent describes an event in a few words. Text from the server is not escaped.
func labelEvent(e *transcript.Event) string {
	switch e.Kind {
	case transcript.Sent, transcript.Received:
		return labelFrame(e)
	case transcript.Requested:
		if e.Head != nil {
			return shortenLabel(e.Head.Method() + " " + e.Head.Target())
		}
	case transcript.Responded:
		if e.Head != nil {
			return shortenLabel(strings.TrimSpace(fmt.Sprintf("HTTP %d %s", e.Head.Status(), e.Head.MediaType())))
		}
	case transcript.Signalled:
		return shortenLabel("signal " + e.Detail)
	case transcript.GaveUp:
		return "no response"
	case transcript.OutputClosed:
		return "the server closed its output"
	case transcript.InputClosed:
		return "its input was closed"
	case transcript.Exited:
		return "the server ended"
	case transcript.Over:
		return "the exchange ended: " + string(e.How)
	}
	return string(e.Kind)
}

func labelFrame(e *transcript.Event) string {
	ms := e.Messages()
	switch {
	case len(ms) == 0:
		return "not a JSON-RPC message"
	case e.Frame.Batch:
		return fmt.Sprintf("batch of %d", len(ms))
	}
	m := &ms[0]
	id := ""
	if m.ID.IsPresent() {
		id = " · id " + m.ID.Raw()
	}
	switch {
	case m.Kind == wire.Request, m.Kind == wire.Notification:
		return shortenLabel(m.Method + id)
	case m.Kind == wire.Response && m.IsError():
		if code, ok := m.ErrorCode(); ok {
			return shortenLabel(fmt.Sprintf("error %d%s", code, id))
		}
		return shortenLabel("error" + id)
	case m.Kind == wire.Response:
		return shortenLabel("result" + id)
	}
	return m.Kind.String()
}

func shortenLabel(s string) string { return strings.TrimSpace(s[:min(len(s), longestLabel)]) }
