package discount

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// busyError requires that every attempt reproduces a broken requirement if its
// evidence is an error that a busy server may return. Under load, a server
// refuses some requests, and the error code says nothing about the request.
type busyError struct{}

func (busyError) discount(c *Claim) (Effect, string) {
	if c.Outcome == verdict.Broken && slices.ContainsFunc(c.At, func(at int) bool {
		if at < 0 || at >= len(c.Events) || c.Events[at].Kind != transcript.Received {
			return false
		}
		return slices.ContainsFunc(c.Events[at].Messages(), func(m wire.Message) bool { return m.Kind == wire.Response && mayBeBusy(&m) })
	}) {
		return EachTime, "the error may mean that the server was busy"
	}
	return Counts, ""
}

// mayBeBusy reports whether m is an error that a busy server may return: an internal error, or an
// error whose code does not blame the request.
func mayBeBusy(m *wire.Message) bool {
	code, ok := m.ErrorCode()
	switch spec.Code(code) {
	case spec.CodeParse, spec.CodeInvalidRequest, spec.CodeMethodNotFound, spec.CodeInvalidParams, spec.CodeResourceNotFound, spec.CodeURLElicitation:
		return false
	default:
		return ok && m.IsError()
	}
}

// brokenConnection requires that every attempt reproduces a deviation if a connection broke before
// a response came, although the server did not exit. An unreliable network is not the server's
// fault.
type brokenConnection struct{}

func (brokenConnection) discount(c *Claim) (Effect, string) {
	if slices.ContainsFunc(c.Conversations, func(events []*transcript.Event) bool {
		return !transcript.HasExited(events) && slices.ContainsFunc(transcript.ExchangesOf(events).All(), func(x *transcript.Exchange) bool {
			return x.Status() == 0 && (x.HowEnded() == transcript.Broken || x.HowEnded() == transcript.Unreachable)
		})
	}) {
		return EachTime, "a connection broke, and it is unknown at which end"
	}
	return Counts, ""
}

// secondCopy requires that every attempt reproduces a deviation if a server over stdio ended by
// itself before its first message. The reason may be that a lock or a port allows only one copy of
// the server, and another one was running.
type secondCopy struct{}

func (secondCopy) discount(c *Claim) (Effect, string) {
	if MayBeSecondCopy(c.Events) {
		return EachTime, "another copy of the server may have been running"
	}
	return Counts, ""
}

// MayBeSecondCopy reports whether a server over stdio ended by itself before its first message.
func MayBeSecondCopy(events []*transcript.Event) bool {
	for _, e := range events {
		switch e.Kind {
		case transcript.OutputClosed, transcript.Exited:
			return true
		case transcript.Received, transcript.InputClosed, transcript.Signalled, transcript.Requested:
			return false
		}
	}
	return false
}
