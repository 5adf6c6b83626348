package client

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestRounds checks that a call whose result requires input is completed with the
// client's responses and the state as it was sent, under another id.
func TestRounds(t *testing.T) {
	elicits := map[string]any{"resultType": "input_required", "requestState": `a"b`, "inputRequests": map[string]any{
		"who": map[string]any{"method": "elicitation/create", "params": map[string]any{"message": "Who?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}}}},
	}}
	for _, test := range []struct {
		name    string
		first   map[string]any // the result of the call without state
		options Options
		do      []Option
		want    []string // the members of each call's params except _meta
		final   string   // the resultType of the reply
	}{
		{
			name: "a form", first: elicits, final: "complete",
			want: []string{`{"name":"ask"}`, `{"name":"ask","inputResponses":{"who":{"action":"decline"}},"requestState":"a\"b"}`},
		},
		{
			name: "only state", first: map[string]any{"resultType": "input_required", "requestState": "s"}, final: "complete",
			want: []string{`{"name":"ask"}`, `{"name":"ask","requestState":"s"}`},
		},
		{name: "one round", first: elicits, do: []Option{OneRound}, want: []string{`{"name":"ask"}`}, final: "input_required"},
		{
			name: "no response", first: elicits, options: Options{Answer: func(*wire.Message) []byte { return nil }},
			want: []string{`{"name":"ask"}`}, final: "input_required",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var calls []string
			server := func(s *scripted, m *wire.Message) {
				if m.Method != spec.MethodToolsCall {
					respondNormally(s, m)
					return
				}
				calls = append(calls, withoutMeta(t, m.Params()))
				result := map[string]any{"resultType": "complete", "content": []any{}}
				if wire.At(m.Params(), "/requestState") == nil {
					result = test.first
				}
				s.write(wire.NewResult(m.ID, result))
			}
			test.options.Revision = spec.V20260728
			inBubble(t, test.options, server, func(t *testing.T, c *Conversation, _ *scripted) {
				r := c.Do(t.Context(), spec.MethodToolsCall, map[string]any{"name": "ask"}, test.do...)
				if kind, _ := wire.Text(wire.At(r.Message.Result(), "/resultType")); kind != test.final {
					t.Errorf("the reply is of the type %s; want %s", kind, test.final)
				}
				seen := map[string]bool{}
				for _, m := range transcript.Messages(c.Record.From(0), transcript.Sent) {
					if seen[m.ID.Key()] {
						t.Errorf("two requests have the id %s", m.ID.Raw())
					}
					seen[m.ID.Key()] = true
				}
			})
			if diff := cmp.Diff(test.want, calls, cmp.Transformer("JSON", canonical)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEndlessRounds checks that a server that always requires more input does not
// keep the client busy for ever.
func TestEndlessRounds(t *testing.T) {
	calls := 0
	inBubble(t, Options{Revision: spec.V20260728}, func(s *scripted, m *wire.Message) {
		calls++
		s.write(wire.NewResult(m.ID, map[string]any{"resultType": "input_required", "requestState": "again"}))
	}, func(t *testing.T, c *Conversation, _ *scripted) {
		if r := c.Do(t.Context(), spec.MethodToolsCall, map[string]any{"name": "ask"}); !r.IsInputRequired() {
			t.Errorf("the reply is %s", r.Message.Raw)
		}
	})
	if calls != maxRounds+1 {
		t.Errorf("%d calls; want %d", calls, maxRounds+1)
	}
}

// TestSubscription checks that messages are paired with their subscription by an id
// of the same type, and that a refusal is distinguished from silence.
func TestSubscription(t *testing.T) {
	notify := func(method string, id any) []byte {
		return wire.NewNotification(method, map[string]any{"_meta": map[string]any{"io.modelcontextprotocol/subscriptionId": id}})
	}
	server := func(s *scripted, m *wire.Message) {
		switch {
		case m.Method != spec.MethodListen:
			respondNormally(s, m)
		case wire.At(m.Params(), "/notifications/promptsListChanged") != nil:
			s.write(wire.NewError(m.ID, -32602, "no", nil))
		case wire.At(m.Params(), "/notifications/toolsListChanged") != nil:
			s.write(notify(spec.MethodAcknowledged, m.ID.Raw())) // a string, where the id is a number
			s.write(notify(spec.MethodAcknowledged, 1000))
			s.write(notify(spec.MethodAcknowledged, 1))
			s.write(notify(spec.MethodToolsChanged, 1))
		}
	}
	inBubble(t, Options{Revision: spec.V20260728}, server, func(t *testing.T, c *Conversation, _ *scripted) {
		listens, err := c.Subscribe(t.Context(), map[string]any{"toolsListChanged": true})
		if err != nil {
			t.Fatal(err)
		}
		if m, err := listens.AwaitAcknowledgement(t.Context()); err != nil || m == nil {
			t.Errorf("the acknowledgement is %v, %v", m, err)
		}
		var methods []string
		if _, err := c.Await(t.Context(), 0, func(e *transcript.Event) bool {
			for _, m := range listens.messagesIn(e) {
				methods = append(methods, m.Method)
			}
			return slices.Contains(methods, spec.MethodToolsChanged)
		}); err != nil {
			t.Errorf("the notification did not come: %v", err)
		}
		if diff := cmp.Diff([]string{spec.MethodAcknowledged, spec.MethodToolsChanged}, methods); diff != "" {
			t.Errorf("the messages of the subscription (-want +got):\n%s", diff)
		}
		if err := listens.Cancel(t.Context()); err != nil {
			t.Error(err)
		}
		for filter, want := range map[string]error{"promptsListChanged": ErrRefused, "resourcesListChanged": ErrUnanswered} {
			s, err := c.Subscribe(t.Context(), map[string]any{filter: true})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.AwaitAcknowledgement(t.Context()); !errors.Is(err, want) {
				t.Errorf("%s: %v; want %v", filter, err, want)
			}
		}
		if !slices.Contains(sentMethods(c), spec.MethodCancelled) {
			t.Errorf("sent %v, no cancellation", sentMethods(c))
		}
	})
}

// withoutMeta returns the params without _meta.
func withoutMeta(t *testing.T, params jsontext.Value) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(params, &all); err != nil {
		t.Fatal(err)
	}
	delete(all, "_meta")
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// canonical returns the JSON value that a text holds.
func canonical(text string) any {
	var v any
	_ = json.Unmarshal([]byte(text), &v)
	return v
}
