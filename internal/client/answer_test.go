package client

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func TestRequestsOfTheServer(t *testing.T) {
	all, none := AllCapabilities("2025-11-25"), map[string]any{}
	for _, c := range []struct {
		name, request string
		caps          map[string]any
		want          string // of result or error; empty for no answer
	}{
		{"ping", `{"id":"s1","method":"ping"}`, none, `"id":"s1","result":{}`},
		{"roots", `{"id":1,"method":"roots/list"}`, all, `"id":1,"result":{"roots":[{"name":"mcp-conform","uri":"file:///mcp-conform/root"}]}`},
		{"roots, undeclared", `{"id":1,"method":"roots/list"}`, none, `"id":1,"error":{"code":-32601,"message":"this client does not support roots/list"}`},
		{"sampling", `{"id":1,"method":"sampling/createMessage"}`, all, `"id":1,"result":{"content":{"text":"a sampled answer","type":"text"},"model":"mcp-conform","role":"assistant","stopReason":"endTurn"}`},
		{"sampling, undeclared", `{"id":1,"method":"sampling/createMessage"}`, none, `"id":1,"error":{"code":-32601,`},
		{"elicitation", `{"id":1,"method":"elicitation/create"}`, all, `"id":1,"result":{"action":"decline"}`},
		{"elicitation, undeclared", `{"id":1,"method":"elicitation/create"}`, map[string]any{"roots": true}, `"id":1,"error":{"code":-32601,`},
		{"unknown", `{"id":1.0,"method":"x/y"}`, all, `"id":1.0,"error":{"code":-32601,"message":"this client does not support x/y"}`},
		{"null id", `{"id":null,"method":"ping"}`, all, `"id":null,"result":{}`},
		{"notification", `{"method":"ping"}`, all, ``},
		{"response", `{"id":1,"result":{}}`, all, ``},
		{"no JSON", `ping`, all, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, Options{Capabilities: c.caps}, neverRespond, func(t *testing.T, conv *Conversation, s *scripted) {
				s.write([]byte(c.request))
				synctest.Wait()
				events := conv.Record.From(2)
				if c.want == "" {
					if len(events) > 0 {
						t.Errorf("answered with %s", events[0].Raw)
					}
					return
				}
				if len(events) != 1 || events[0].Kind != transcript.Sent || !strings.Contains(string(events[0].Raw), c.want) {
					t.Fatalf("the answer is %s", conv.Record.From(1)[len(events)].Raw)
				}
			})
		})
	}
}

func TestResponsesToServerAreBounded(t *testing.T) {
	m := wire.Parse([]byte(`{"id":1,"method":"` + strings.Repeat("é", 1<<20) + `"}`)).Messages[0]
	if got := respond(&m, nil); len(got) > 1000 {
		t.Errorf("the answer has %d bytes", len(got))
	}
}

func TestOptionsAnswer(t *testing.T) {
	own := func(m *wire.Message) []byte {
		if m.Method == "silence" {
			return nil
		}
		return wire.NewResult(m.ID, "own")
	}
	inBubble(t, Options{Answer: own}, neverRespond, func(t *testing.T, c *Conversation, s *scripted) {
		s.write([]byte(`[{"id":1,"method":"silence"},{"id":2,"method":"ping"},{"id":3,"method":"x"}]`))
		synctest.Wait()
		events := c.Record.From(2)
		if len(events) != 2 || string(events[0].Raw) != `{"jsonrpc":"2.0","id":2,"result":"own"}` || events[1].Messages()[0].ID != wire.IntID(3) {
			t.Errorf("%d answers: %+v", len(events), events)
		}
	})
}

// TestServerRequestDuringRequest checks that the client responds to requests of the server while it
// waits for a response.
func TestServerRequestDuringRequest(t *testing.T) {
	var asked wire.ID
	c := overPipes(t, Options{}, func(m *wire.Message) ([][]byte, bool) {
		switch {
		case m.Kind == wire.Request:
			asked = m.ID
			return [][]byte{wire.NewRequest(wire.StringID("s"), "roots/list", nil)}, true
		case m.Kind == wire.Response && m.ID == wire.StringID("s"):
			return [][]byte{wire.NewResult(asked, "thanks")}, true
		}
		return nil, true
	})
	r := c.Do(t.Context(), "x", nil)
	if !r.Succeeded() || r.Sent.Messages()[0].Method != "x" {
		t.Errorf("the reply is %+v", r)
	}
	c.Close()
	if err := c.Send(t.Context(), []byte("x")); err == nil || errors.Is(err, ErrUnanswered) {
		t.Errorf("sending after the end: %v", err)
	}
}

// TestHoldReplies uses pipes and not a synctest bubble, in which no goroutine may wait for a lock.
func TestHoldReplies(t *testing.T) {
	c := overPipes(t, Options{}, func(m *wire.Message) ([][]byte, bool) {
		if m.Kind != wire.Request {
			return nil, true
		}
		return [][]byte{wire.NewRequest(wire.StringID("s"), "ping", nil), wire.NewResult(m.ID, nil)}, true
	})
	release := c.HoldReplies()
	for range 5 { // the server sends a request each time; the rounds give the client time to respond
		if r := c.Do(t.Context(), "x", nil); !r.Succeeded() {
			t.Errorf("the reply is %+v", r)
		}
	}
	released := c.Record.Remark("released")
	release()
	e, err := c.Await(t.Context(), 0, func(e *transcript.Event) bool {
		return e.Kind == transcript.Sent && e.Messages()[0].Kind == wire.Response
	})
	if err != nil || e.Seq < released.Seq {
		t.Errorf("the answer stands at %+v, before %d: %v", e, released.Seq, err)
	}
}
