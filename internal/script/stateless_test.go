package script

import (
	"slices"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/inprocess"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// sentIn plays a script of 2026-07-28 on the reference server, and returns the requests and
// notifications of the first conversation that carry an id of 100 or more, as sent.
func sentIn(t *testing.T, s Script) (o *Playback, sent []wire.Message, methods []string) {
	t.Helper()
	s.Revision = spec.V20260728
	o = Player{Dialer: inprocess.Dialer(nil), Timeout: 5 * time.Second, Start: 20 * time.Second}.Play(t.Context(), s)
	if len(o.Conversations) != 1 || o.Unanswered() != "" {
		t.Fatalf("%d conversations, without an answer: %q", len(o.Conversations), o.Unanswered())
	}
	for _, m := range transcript.Messages(o.Conversations[0].Events, transcript.Sent) {
		methods = append(methods, m.Method)
		if id := m.ID.Raw(); len(id) > 2 {
			sent = append(sent, *m)
		}
	}
	return o, sent, methods
}

func send(id int64, method string, params map[string]any) Operation {
	return Operation{Do: Send, Method: method, Message: wire.NewRequest(wire.IntID(id), method, params), Await: true}
}

// TestNextRound checks that a request with a target carries the state and the client's responses,
// and is skipped if the target's response requires no input.
func TestNextRound(t *testing.T) {
	t.Parallel()
	ask := map[string]any{"name": "ask-roots"}
	first, second, third := send(100, spec.MethodToolsCall, ask), send(101, spec.MethodToolsCall, ask), send(102, spec.MethodToolsCall, ask)
	second.Target, third.Target = Bytes("100"), Bytes("101")
	roots := Operation{Do: Answer, Method: spec.MethodRootsList, Reply: &Reply{Result: Bytes(`{"roots":[{"uri":"file:///mine"}]}`)}}
	o, sent, _ := sentIn(t, Script{Operations: []Operation{roots, first, second, third}})
	if len(sent) != 2 || !slices.Equal(o.Skipped, []int{3}) {
		t.Fatalf("%d requests were sent, operations %v skipped; the second result is complete", len(sent), o.Skipped)
	}
	_, responses := wire.Members(sent[1].ParamAt("/inputResponses"))
	if sent[1].ParamAt("/requestState") == nil || len(responses) != 1 {
		t.Fatalf("the next round lacks something: %s", sent[1].Raw)
	}
	for _, r := range responses {
		if got, _ := wire.Text(wire.At(r, "/roots/0/uri")); got != "file:///mine" {
			t.Errorf("the response is %s", r)
		}
	}
	roots.Reply = &Reply{Code: -1}
	if o, sent, _ := sentIn(t, Script{Operations: []Operation{roots, first, second}}); len(sent) != 1 || len(o.Skipped) != 1 {
		t.Errorf("without an answer %d requests were sent, operations %v skipped", len(sent), o.Skipped)
	}
}

// TestSubscriptionsAreNotAwaited checks that the player goes on after subscriptions/listen, and that
// no response to it is missed.
func TestSubscriptionsAreNotAwaited(t *testing.T) {
	t.Parallel()
	listen := send(100, spec.MethodListen, map[string]any{"notifications": map[string]any{"toolsListChanged": true}})
	began := time.Now()
	o, sent, methods := sentIn(t, Script{NoDiscover: true, Operations: []Operation{listen, send(101, spec.MethodToolsList, nil), {Do: Cancel, Target: Bytes("100")}}})
	if len(sent) != 2 || o.WaitedBriefly() || time.Since(began) > 4*time.Second {
		t.Errorf("%d requests were sent, in %v", len(sent), time.Since(began))
	}
	if methods[0] != spec.MethodListen || !slices.Contains(methods, spec.MethodCancelled) {
		t.Errorf("sent were %v", methods)
	}
}

// TestDiscoverComesFirst checks that conversations begin with server/discover unless the script says
// otherwise.
func TestDiscoverComesFirst(t *testing.T) {
	t.Parallel()
	for _, without := range []bool{false, true} {
		_, _, methods := sentIn(t, Script{NoDiscover: without, Operations: []Operation{send(100, spec.MethodToolsList, nil)}})
		if (methods[0] == spec.MethodToolsList) != without {
			t.Errorf("NoDiscover is %v, and sent were %v", without, methods)
		}
	}
}
