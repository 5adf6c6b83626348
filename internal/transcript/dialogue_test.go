package transcript

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// eventsOf returns the events of a script.
func eventsOf(t *testing.T, text string) []*Event {
	t.Helper()
	r, err := ParseScript(text)
	if err != nil {
		t.Fatal(err)
	}
	return r.Events
}

// positionsOf returns the positions of messages.
func positionsOf(all []Message) (out []int) {
	for _, m := range all {
		out = append(out, m.Event.Seq)
	}
	return out
}

// describe formats a dialogue as one line for each request, with its position and outcome.
func describe(d *Dialogue) (out []string) {
	for _, r := range slices.Concat(d.Requests(), d.ServerRequests()) {
		text := fmt.Sprintf("%s %d %s", r.Event.Kind, r.Event.Seq, r.Message.Method)
		if at := positionsOf(r.Responses); at != nil {
			text += fmt.Sprint(" responses ", at)
		}
		if at := positionsOf(r.Cancellations); at != nil {
			text += fmt.Sprint(" cancelled ", at)
		}
		if at := positionsOf(r.Progress); at != nil {
			text += fmt.Sprint(" progress ", at)
		}
		if r.Exchange != nil {
			text += fmt.Sprint(" exchange ", r.Exchange.Number)
		}
		out = append(out, text)
	}
	return out
}

func TestDialogue(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		want         []string
	}{
		{"out of order", `
> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
> {"jsonrpc":"2.0","id":"1","method":"ping"}
< {"jsonrpc":"2.0","id":"1","result":{}}
< {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}
`, []string{"sent 1 tools/list responses [4]", "sent 2 ping responses [3]"}},
		{"both sides have the same id", `
> {"jsonrpc":"2.0","id":1,"method":"tools/call"}
< {"jsonrpc":"2.0","id":1,"method":"roots/list"}
> {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}
< {"jsonrpc":"2.0","id":1.0,"result":{"content":[]}}
`, []string{"sent 1 tools/call responses [4]", "received 2 roots/list responses [3]"}},
		{"an id that is used again goes to the oldest, then to the newest", `
> {"jsonrpc":"2.0","id":1,"method":"ping"}
> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
< {"jsonrpc":"2.0","id":1,"result":{}}
< {"jsonrpc":"2.0","id":1,"result":{}}
< {"jsonrpc":"2.0","id":1,"result":{}}
`, []string{"sent 1 ping responses [3]", "sent 2 tools/list responses [4 5]"}},
		{"a response belongs to the request of its own exchange", `
1> POST /mcp HTTP/1.1
1>> {"jsonrpc":"2.0","id":1,"method":"ping"}
2> POST /mcp HTTP/1.1
2>> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
2< HTTP/1.1 200 OK
   Content-Type: application/json
2<< {"jsonrpc":"2.0","id":1,"result":{}}
1< HTTP/1.1 200 OK
   Content-Type: application/json
1<< {"jsonrpc":"2.0","id":1,"result":{}}
`, []string{"sent 2 ping responses [8] exchange 1", "sent 4 tools/list responses [6] exchange 2"}},
		{"responses without an id, and to nothing", `
< {"jsonrpc":"2.0","id":1,"result":{}}
> {"jsonrpc":"2.0","id":1,"method":"ping"}
< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}
< {"jsonrpc":"2.0","id":2,"result":{}}
> {"jsonrpc":"2.0","id":1,"result":{}}
`, []string{"sent 2 ping"}},
		{"null is an id but once", `
> {"jsonrpc":"2.0","id":null,"method":"ping"}
< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}
< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}
`, []string{"sent 1 ping responses [2]"}},
		{"cancellations name the requests of their own side that were made before", `
> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
> {"jsonrpc":"2.0","id":1,"method":"tools/call"}
< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
< {"jsonrpc":"2.0","id":2,"method":"roots/list"}
> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
< {"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"cancelled"}}
< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
`, []string{"sent 2 tools/call responses [7] cancelled [5 6]", "received 4 roots/list cancelled [8]"}},
		{"progress comes from the other side, after the request", `
< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":0}}
> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"a"}}}
> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":1}}
< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"b","progress":1}}
< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":1}}
< {"jsonrpc":"2.0","id":1,"result":{}}
< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"\u0061","progress":2}}
`, []string{"sent 2 tools/call responses [6] progress [5 7]"}},
		{"progress of requests with one token is that of the newest in flight", `
> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"a"}}}
> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":"a"}}}
< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":1}}
< {"jsonrpc":"2.0","id":2,"result":{}}
< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":2}}
< {"jsonrpc":"2.0","id":1,"result":{}}
< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":3}}
`, []string{"sent 1 tools/call responses [6] progress [5]", "sent 2 tools/call responses [4] progress [3 7]"}},
		{"a batch", `
> [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]
< [{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":1,"result":{}}]
`, []string{"sent 1 ping responses [2]", "sent 1 ping responses [2]"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := DialogueOf(eventsOf(t, "transport: stdio\n"+tc.script))
			if diff := cmp.Diff(tc.want, describe(d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInFlight(t *testing.T) {
	d := DialogueOf(eventsOf(t, `transport: stdio

> {"jsonrpc":"2.0","id":1,"method":"ping"}
> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
< {"jsonrpc":"2.0","id":1,"result":{}}
< {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}
`))
	var got [][]int
	for at := range 6 {
		var in []int
		for _, r := range d.InFlight(at) {
			in = append(in, r.Event.Seq)
		}
		got = append(got, in)
	}
	if diff := cmp.Diff([][]int{nil, nil, {1}, {1, 2}, {2}, nil}, got); diff != "" {
		t.Error(diff)
	}
}

// drawEvents draws a conversation with few ids and exchanges, so that equal ones are frequent.
func drawEvents(t *rapid.T) []*Event {
	forms := []string{
		`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"_meta":{"progressToken":%[1]s}}}`,
		`{"jsonrpc":"2.0","id":%s,"result":{}}`,
		`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":""}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`,
	}
	tr := New()
	for range rapid.IntRange(0, 30).Draw(t, "events") {
		form := rapid.SampledFrom(forms).Draw(t, "form")
		tr.Add(Event{
			Kind:     rapid.SampledFrom([]Kind{Sent, Received}).Draw(t, "kind"),
			Exchange: rapid.IntRange(0, 2).Draw(t, "exchange"),
			Raw:      fmt.Appendf(nil, form, rapid.SampledFrom([]string{"1", "2", `"1"`, "null"}).Draw(t, "id")),
		})
	}
	return tr.From(0)
}

func TestDialogueLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents(t)
		d := DialogueOf(events)
		requests := slices.Concat(d.Requests(), d.ServerRequests())
		paired := map[*wire.Message]*Request{}
		for _, r := range requests {
			if d.RequestOf(r.Message) != r {
				t.Fatalf("the request at %d is not that of its own message", r.Event.Seq)
			}
			for i, m := range r.Responses {
				if m.Event.Kind == r.Event.Kind || m.Event.Seq <= r.Event.Seq || !m.ID.Same(r.Message.ID) || m.Kind != wire.Response {
					t.Fatalf("the response at %d does not belong to the request at %d", m.Event.Seq, r.Event.Seq)
				}
				if i > 0 && m.Event.Seq <= r.Responses[i-1].Event.Seq {
					t.Fatalf("the responses to the request at %d are not in order", r.Event.Seq)
				}
				if paired[m.Message] != nil || d.RequestOf(m.Message) != r {
					t.Fatalf("the response at %d belongs to two requests", m.Event.Seq)
				}
				paired[m.Message] = r
			}
			for _, p := range r.Progress {
				if p.Event.Kind == r.Event.Kind || p.Event.Seq <= r.Event.Seq || d.RequestOf(p.Message) != r {
					t.Fatalf("the progress at %d is not of the request at %d", p.Event.Seq, r.Event.Seq)
				}
			}
			for _, c := range r.Cancellations {
				if c.Event.Kind != r.Event.Kind || c.Event.Seq <= r.Event.Seq {
					t.Fatalf("the cancellation at %d is not of the request at %d", c.Event.Seq, r.Event.Seq)
				}
			}
		}
		// Every request is in the dialogue, and a response is unpaired only if no earlier
		// request matches it.
		asked := 0
		for _, kind := range []Kind{Sent, Received} {
			for e, m := range Messages(events, kind) {
				switch {
				case m.Kind == wire.Request:
					asked++
				case m.Kind == wire.Response && paired[m] == nil:
					for _, r := range requests {
						if r.Event.Kind != kind && r.Event.Seq < e.Seq && m.ID.Same(r.Message.ID) && (len(r.Responses) == 0 || !m.ID.IsNull()) {
							t.Fatalf("the response at %d belongs to nothing, in spite of the request at %d", e.Seq, r.Event.Seq)
						}
					}
				}
			}
		}
		if asked != len(requests) {
			t.Fatalf("%d requests of %d", len(requests), asked)
		}
		// InFlight(at) must return the requests that have no response in the first at
		// events.
		at := rapid.IntRange(0, len(events)).Draw(t, "at")
		known := map[int]bool{}
		for _, r := range DialogueOf(events[:at]).Requests() {
			if r.Response() == nil {
				known[r.Event.Seq] = true
			}
		}
		for _, r := range d.InFlight(at) {
			if !known[r.Event.Seq] {
				t.Fatalf("the request at %d is not in flight at %d", r.Event.Seq, at)
			}
			delete(known, r.Event.Seq)
		}
		if len(known) > 0 {
			t.Fatalf("in flight at %d, too: %v", at, known)
		}
	})
}
