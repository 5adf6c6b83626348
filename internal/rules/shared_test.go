package rules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestSharedState checks that a state which two rules read is started once, and that its handlers
// see a message before and after both rules.
func TestSharedState(t *testing.T) {
	var order []string
	hears := func(who string) Handlers {
		return Handlers{Notification(""): func(_ *Session, obs *Observation, _ *Reporter) {
			text, _ := wire.Text(obs.Message.ParamAt("/data"))
			order = append(order, who+" "+text)
		}}
	}
	count := &Shared[*int]{Start: func() (*int, Handlers, Handlers) {
		order = append(order, "start")
		return new(int), hears("before"), hears("after")
	}}
	reader := func(name string) Rule {
		return Rule{ID: "rule." + name, Start: WithoutState(Fold{Shared: []SharedState{count}, OnMessage: hears(name), AtEnd: func(s *Session, _ *Reporter) { *count.Of(s)++ }})}
	}
	alone := Rule{ID: "alone", Start: WithoutState(Fold{Shared: []SharedState{count}, AtEnd: func(s *Session, _ *Reporter) {
		if n := *count.Of(s); n != 2 {
			t.Errorf("the state was counted up %d times before, not twice", n)
		}
	}})}
	const script = "revision: 2025-11-25\ntransport: stdio\n\n" +
		`< {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"one"}}` + "\n" +
		`< {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"two"}}` + "\n"
	found, err := transcript.ReadRecordings("script.txt", strings.NewReader(script))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d conversations: %v", len(found), err)
	}
	Judge([]Rule{reader("first"), reader("second"), alone}, found[0].Events, spec.V20251125, spec.Stdio)
	want := []string{
		"start",
		"before one", "first one", "second one", "after one",
		"before two", "first two", "second two", "after two",
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("the order in which messages are heard (-want +got):\n%s", diff)
	}
}
