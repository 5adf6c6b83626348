package engine

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// hesitant tells whether what is to be called broken is shown by an error that
// may say, in whatever words, that the server had no time: its code says nothing
// of the request. Such a deviation must come back each time, for a server under
// load refuses now and then.
func (c *candidate) hesitant() bool {
	if c.outcome != verdict.Broken || c.record == nil {
		return false
	}
	events := c.record.From(0)
	return slices.ContainsFunc(c.At, func(at int) bool {
		if at < 0 || at >= len(events) || events[at].Kind != transcript.Received {
			return false
		}
		return slices.ContainsFunc(events[at].Messages(), func(m wire.Message) bool { return m.Kind == wire.Response && mayBeBusy(&m) })
	})
}

// mayBeBusy tells whether an error has a code of a failure within the server, or
// one that only its author knows.
func mayBeBusy(m *wire.Message) bool {
	code, ok := m.ErrorCode()
	switch spec.Code(code) {
	case spec.CodeParse, spec.CodeInvalidRequest, spec.CodeMethodNotFound, spec.CodeInvalidParams, spec.CodeResourceNotFound, spec.CodeURLElicitation:
		return false
	default:
		return ok && m.IsError()
	}
}
