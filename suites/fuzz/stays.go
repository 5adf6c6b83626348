package fuzz

import (
	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// stays looks for servers that ended by themselves, or that answer no more. A
// request that was left unanswered by that is a matter of the rules; here it is
// what no request waited for. Over HTTP the process is not seen.
func stays(o *fuzz.Outcome) []fuzz.Breach {
	if o.Transport != spec.Stdio {
		return nil
	}
	var out []fuzz.Breach
	for n, t := range o.Talks {
		if d, ok := gone(t); ok {
			out = append(out, fuzz.Breach{Deviation: d, Talk: n})
		}
	}
	return out
}

func gone(t *fuzz.Talk) (verdict.Deviation, bool) {
	end := ended(t)
	if end < 0 && !t.Deaf {
		return verdict.Deviation{}, false
	}
	what, of := "ends the server.", t.Events[:max(end, 0)]
	if end < 0 {
		what, of = "leaves the server without any answer.", t.Events
	}
	open := map[string]bool{}
	var last *transcript.Event
	illegal := 0 // the worst of what was sent that nobody has to read
	for _, e := range of {
		switch e.Kind {
		case transcript.Sent:
			last = e
			illegal = max(illegal, illegality(e))
			for i := range e.Messages() {
				if m := &e.Frame.Messages[i]; m.Kind == wire.Request {
					open[m.ID.Key()] = true
				}
			}
		case transcript.Received:
			for i := range e.Messages() {
				delete(open, e.Frame.Messages[i].ID.Key())
			}
		}
	}
	if last == nil {
		return verdict.Deviation{}, false
	}
	d := verdict.Deviation{Seen: "after " + excerpt(last.Raw), At: []int{last.Seq}, Weight: verdict.AtMostWarning}
	switch {
	case illegal == unreadable:
		d.Requirement, d.Summary, d.Permitted = parseError, "A line that is not JSON "+what, "an error with code -32700, or silence"
	case illegal == unrequested:
		d.Requirement, d.Summary, d.Permitted = invalidRequest, "A message that is no valid request "+what, "an error with code -32600, or silence"
	case end >= 0 && len(open) == 0:
		d.Requirement, d.Summary = requestAnswered, "The server ends though nobody asked it to, and so answers no more."
		d.Permitted = "a server that goes on until its input is closed"
	default:
		return d, false // the rules speak of the request
	}
	return d, true
}

const (
	unrequested = iota + 1
	unreadable
)

// illegality says whether a frame of ours is JSON-RPC at all.
func illegality(e *transcript.Event) int {
	switch {
	case len(e.Raw) == 0:
		return 0 // an empty line says nothing
	case len(e.Frame.Problems) > 0 && !e.Frame.Readable(), e.Frame.Has(wire.InvalidUTF8), e.Frame.Has(wire.NotJSON), e.Frame.Has(wire.TrailingText):
		return unreadable
	}
	for i := range e.Messages() {
		if m := &e.Frame.Messages[i]; m.Kind == wire.Invalid || m.Kind == wire.Request && (m.ID.IsNull() || !m.ID.IsString() && !m.ID.IsInteger()) {
			return unrequested
		}
	}
	return 0
}

// ended returns where the server ended by itself, -1 where it did not.
func ended(t *fuzz.Talk) int {
	for i, e := range t.Events {
		switch e.Kind {
		case transcript.InputClosed, transcript.Signalled:
			return -1
		case transcript.OutputClosed, transcript.Exited:
			return i
		}
	}
	return -1
}

func excerpt(b []byte) string {
	const most = 120
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}
