package streamablehttp

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const shutdownHTTP = "lifecycle.shutdown-http"

func shutdownRules() []rules.Rule {
	return []rules.Rule{{
		ID:           "rule.shutdown-http",
		Title:        "a server outlives the connections that its client closes",
		Requirements: []string{shutdownHTTP},
		Start:        judgeExchangesAtEnd(judgeShutdown),
	}}
}

// judgeShutdown judges what the server does after the client closed a stream.
func judgeShutdown(v *view, out *rules.Reporter) {
	closed := v.firstDroppedStream()
	for _, x := range v.all {
		if closed != nil && x.Request.Seq > closed.End.Seq && !v.s.Signalled {
			switch {
			case x.HowEnded() == transcript.Unreachable:
				out.Report(verdict.Deviation{
					Requirement: shutdownHTTP,
					Summary:     "The server is unreachable after the client closed a connection.",
					Permitted:   "the server still accepts connections",
					Seen:        x.Method() + ": " + rules.Excerpt(x.End.Detail),
					At:          positionsOf(closed.Request, closed.End, x.Request, x.End),
				})
				return
			case x.Succeeded():
				out.MarkObserved(shutdownHTTP)
			}
		}
	}
	if v.s.Transport == spec.SSE {
		v.judgeAfterDrop(out)
	}
}

// firstDroppedStream returns the stream that the client closed first, or nil.
func (v *view) firstDroppedStream() *exchange {
	var first *exchange
	for _, x := range v.all {
		if x.isStreamOpened() && x.HowEnded() == transcript.Dropped && (first == nil || x.End.Seq < first.End.Seq) {
			first = x
		}
	}
	return first
}

// judgeAfterDrop looks for responses on a stream that was opened after the client closed the one
// to which they belong.
func (v *view) judgeAfterDrop(out *rules.Reporter) {
	for _, req := range v.s.ClientRequests() {
		x := v.exchangeOf(req.Event)
		if x == nil || len(req.Responses) == 0 {
			continue
		}
		own, on := v.channelsFor(x), v.exchangeOf(req.Responses[0].Event)
		if len(own) != 1 || v.hasSharedEndpoint(own[0]) || own[0].End == nil || own[0].End.How != transcript.Dropped || on == nil || on.Method() != "GET" || on.Request.Seq < own[0].End.Seq {
			continue
		}
		out.Report(verdict.Deviation{
			Requirement: shutdownHTTP,
			Summary:     "The server sends a closed stream's response on a new stream.",
			Permitted:   "on a new stream, only messages of the new connection",
			Seen:        rules.Excerpt(req.Responses[0].Event.Raw),
			At:          positionsOf(own[0].Request, own[0].End, on.Request, req.Responses[0].Event),
		})
	}
}
