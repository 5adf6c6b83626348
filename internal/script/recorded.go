package script

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// FromRecord converts a recorded conversation to scripts that may reproduce a finding, the shortest
// first: with the messages that the evidence shows, with those sent since the last case began, and
// with all messages. The argument at holds the positions of the evidence; no script contains
// messages after the last of them. The caller must try which script reproduces the finding.
func FromRecord(events []*transcript.Event, at []int, rev spec.Revision) []Script {
	last := len(events) - 1
	if len(at) > 0 {
		last = min(last, slices.Max(at))
	}
	begin := 0
	for i, e := range events[:last+1] {
		if e.Kind == transcript.CaseBegan && e.Detail != "" {
			begin = i
		}
	}
	shown := shownRequests(events, at)
	all := func(int) bool { return true }
	var out []Script
	for _, part := range []struct {
		from int
		keep func(at int) bool
	}{{0, func(at int) bool { return shown[at] }}, {begin, all}, {0, all}} {
		s := Script{Revision: rev, Operations: operationsBetween(events, part.from, last, part.keep)}
		same := func(have Script) bool { return reflect.DeepEqual(have, s) }
		if len(s.Operations) <= maxOperations && !slices.ContainsFunc(out, same) {
			out = append(out, s)
		}
	}
	return out
}

// maxOperations limits how many operations a script from a recording has.
const maxOperations = 2000

// shownRequests returns the positions of the client's messages that are in the evidence, and of the
// requests whose response, or whose missing response, is in the evidence.
func shownRequests(events []*transcript.Event, evidence []int) map[int]bool {
	out, d := map[int]bool{}, transcript.DialogueOf(events)
	for _, at := range evidence {
		if at < 0 || at >= len(events) {
			continue
		}
		e := events[at]
		switch e.Kind {
		case transcript.Sent:
			out[at] = true
		case transcript.GaveUp:
			out[e.Of] = true
		case transcript.Received:
			for i := range e.Messages() {
				if m := &e.Messages()[i]; m.Kind == wire.Response && d.RequestOf(m) != nil {
					out[d.RequestOf(m).Event.Seq] = true
				}
			}
		}
	}
	return out
}

// operationsBetween returns operations that send the client's messages from one position to
// another, both included, except those for whose position keep returns false. It also omits the
// handshake and the client's responses, because a replay produces its own, and cancellations of
// requests that it omits.
func operationsBetween(events []*transcript.Event, from, to int, keep func(at int) bool) []Operation {
	var out []Operation
	opened, d := map[string]bool{}, transcript.DialogueOf(events)
	for i, e := range events[:to+1] {
		if e.Kind != transcript.Sent {
			continue
		}
		messages := e.Messages()
		if whole := len(messages) == 1 && !e.Frame.Batch && len(e.Frame.Problems) == 0; !whole {
			if i >= from && keep(i) {
				out = append(out, Operation{Do: Raw, Message: append(slices.Clone(e.Raw), '\n')})
			}
			continue
		}
		m := &messages[0]
		greets := (m.Method == spec.MethodInitialize || m.Method == spec.MethodInitialized) && !opened[m.Method]
		opened[m.Method] = true
		if i < from || greets || m.Kind == wire.Response || !keep(i) {
			continue
		}
		if r := d.RequestOf(m); m.Method == spec.MethodCancelled && r != nil && (r.Event.Seq < from || !keep(r.Event.Seq)) {
			continue // a client may cancel only what it has sent
		}
		out = append(out, Operation{
			Do: Send, Method: m.Method, Message: withForeignID(m), Await: m.Kind == wire.Request && isAnsweredNext(events, d.RequestOf(m)),
		})
	}
	if len(out) == 0 { // the handshake alone shows the finding
		out = append(out, Operation{Do: Fence})
	}
	return out
}

// isAnsweredNext reports whether the response to r came before the client sent anything more.
func isAnsweredNext(events []*transcript.Event, r *transcript.Request) bool {
	m := r.Response()
	return m != nil && !slices.ContainsFunc(events[r.Event.Seq+1:m.Event.Seq], func(e *transcript.Event) bool { return e.Kind == transcript.Sent })
}

// idOffset is added to the integer ids of recorded requests, because a replay uses small ones for
// its own requests.
const idOffset = 1000

// withForeignID returns the message with an id that a replay does not use for its own requests. It
// changes only integer ids: the id of the message, or of the request that the message cancels.
func withForeignID(m *wire.Message) Bytes {
	names, members := wire.Members(m.Raw)
	replaced := false
	shift := func(of map[string]jsontext.Value, name string) {
		if n, err := strconv.ParseUint(string(of[name]), 10, 31); err == nil {
			of[name] = strconv.AppendUint(nil, n+idOffset, 10)
			replaced = true
		}
	}
	shift(members, "id")
	if m.Method == spec.MethodCancelled {
		inner, params := wire.Members(members["params"])
		if params["requestId"] != nil {
			shift(params, "requestId")
			members["params"] = wire.Object(inner, params)
		}
	}
	if !replaced {
		return Bytes(m.Raw)
	}
	return wire.Object(names, members)
}
