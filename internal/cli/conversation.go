package cli

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// told turns a recorded conversation into the scripts that may show a finding
// again, the shortest first: what the evidence shows, what its case sent, all
// that was sent. What they show has to be tried.
func told(s engine.Sighting, rev spec.Revision) []generate.Script {
	last := len(s.Events) - 1
	if len(s.Deviation.At) > 0 {
		last = min(last, slices.Max(s.Deviation.At))
	}
	begin := 0
	for i, e := range s.Events[:last+1] {
		if e.Kind == transcript.CaseBegan && e.Detail != "" {
			begin = i
		}
	}
	shown := evidenced(s)
	all := func(int) bool { return true }
	var out []generate.Script
	for _, part := range []struct {
		from int
		with func(at int) bool
	}{{0, func(at int) bool { return shown[at] }}, {begin, all}, {0, all}} {
		script := generate.Script{Revision: rev, Operations: operations(s.Events, part.from, last, part.with)}
		if len(script.Operations) > mostOperations || slices.ContainsFunc(out, func(have generate.Script) bool { return bytes.Equal(spelled(have), spelled(script)) }) {
			continue
		}
		out = append(out, script)
	}
	return out
}

// mostOperations bounds a replay file.
const mostOperations = 2000

// spelled tells scripts apart.
func spelled(s generate.Script) []byte {
	var out []byte
	for _, o := range s.Operations {
		out = append(append(out, o.Message...), string(o.Do)+strconv.FormatBool(o.Await)...)
	}
	return out
}

// evidenced returns the positions of what was sent that the evidence shows, or
// that is answered there.
func evidenced(s engine.Sighting) map[int]bool {
	out := map[int]bool{}
	for _, at := range s.Deviation.At {
		if at < 0 || at >= len(s.Events) {
			continue
		}
		e := s.Events[at]
		switch e.Kind {
		case transcript.Sent:
			out[at] = true
		case transcript.GaveUp:
			out[e.Of] = true
		case transcript.Received:
			for _, m := range e.Messages() {
				if i := asking(s.Events[:at], m.ID); m.Kind == wire.Response && i >= 0 {
					out[i] = true
				}
			}
		}
	}
	return out
}

// asking returns where the request with the id was sent last, -1 for nowhere.
func asking(events []*transcript.Event, id wire.ID) int {
	for i, e := range slices.Backward(events) {
		if e.Kind == transcript.Sent && slices.ContainsFunc(e.Messages(), func(m wire.Message) bool { return m.Kind == wire.Request && m.ID.Same(id) }) {
			return i
		}
	}
	return -1
}

// operations tells what was sent from one position to another. A replay opens
// its own conversation and answers the server's requests itself.
func operations(events []*transcript.Event, from, to int, with func(at int) bool) []generate.Operation {
	var out []generate.Operation
	opened := map[string]bool{}
	for i, e := range events[:to+1] {
		if e.Kind != transcript.Sent {
			continue
		}
		messages := e.Messages()
		if whole := len(messages) == 1 && !e.Frame.Batch && len(e.Frame.Problems) == 0; !whole {
			if i >= from && with(i) {
				out = append(out, generate.Operation{Do: generate.Raw, Message: append(slices.Clone(e.Raw), '\n')})
			}
			continue
		}
		m := &messages[0]
		greets := (m.Method == spec.MethodInitialize || m.Method == spec.MethodInitialized) && !opened[m.Method]
		opened[m.Method] = true
		if i < from || greets || m.Kind == wire.Response || !with(i) {
			continue
		}
		out = append(out, generate.Operation{
			Do: generate.Send, Method: m.Method, Message: renumbered(m), Await: m.Kind == wire.Request && answeredNext(events, i, m.ID),
		})
	}
	if len(out) == 0 { // the handshake shows it
		out = append(out, generate.Operation{Do: generate.Fence})
	}
	return out
}

// answeredNext tells whether the answer came before anything else was sent.
func answeredNext(events []*transcript.Event, at int, id wire.ID) bool {
	for _, e := range events[at+1:] {
		switch e.Kind {
		case transcript.Sent:
			return false
		case transcript.Received:
			if slices.ContainsFunc(e.Messages(), func(m wire.Message) bool { return m.Kind == wire.Response && m.ID.Same(id) }) {
				return true
			}
		}
	}
	return false
}

// apart is added to ids that count up from one, as those do that a replay gives
// to its own requests.
const apart = 1000

// renumbered is the message with an id that no request of the replay has.
func renumbered(m *wire.Message) generate.Bytes {
	names, members := wire.Members(m.Raw)
	replaced := false
	shift := func(of map[string]jsontext.Value, name string) {
		if n, err := strconv.ParseUint(string(of[name]), 10, 31); err == nil {
			of[name] = strconv.AppendUint(nil, n+apart, 10)
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
		return generate.Bytes(m.Raw)
	}
	return wire.Object(names, members)
}
