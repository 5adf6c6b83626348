package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	firstMethod  = "com.example/first"
	secondMethod = "com.example/second"
)

// silence returns a rule on the requirement that reports each method to which the server did not
// respond in time.
func silence(requirement string) rules.Rule {
	return rules.Rule{ID: "rule.silence", Title: "no response", Requirements: []string{requirement}, Start: func() rules.Fold {
		methods := map[int]string{}
		return rules.Fold{OnEvent: func(_ *rules.Session, e *transcript.Event, out *rules.Reporter) {
			switch e.Kind {
			case transcript.Sent:
				methods[e.Seq] = e.Messages()[0].Method
			case transcript.GaveUp:
				out.Report(verdict.Deviation{Requirement: requirement, Summary: methods[e.Of], Permitted: "a response", Seen: "none", At: []int{e.Of}})
			}
		}}
	}}
}

// requesting returns a case that sends requests with these methods after a delay, as on a busy
// machine. If shares is set, it shares a conversation with other cases.
func requesting(id string, shares bool, delay time.Duration, methods ...string) suite.Case {
	return suite.Case{ID: id, Title: id, Requirements: []string{pinged}, SharesConversation: shares, Run: func(ctx context.Context, t *suite.T) {
		c := t.Conversation(ctx)
		c.Pause(ctx, delay)
		for _, m := range methods {
			c.Do(ctx, m, nil)
		}
	}}
}

// TestSilenceAfterAnother checks that a missing response has the same verdict whether or not the
// server had left another request without a response before, so that the client waited for less
// than the timeout.
func TestSilenceAfterAnother(t *testing.T) {
	never := time.Hour
	for _, c := range []struct {
		name   string
		cases  []suite.Case
		second time.Duration // how long the second method takes
		want   []string
	}{
		{"at the same time", []suite.Case{requesting("toy.a", true, 0, firstMethod), requesting("toy.b", false, 0, secondMethod)}, never,
			[]string{firstMethod + " broken 1/1", secondMethod + " broken 1/1"}},
		{"after the timeout of the first", []suite.Case{requesting("toy.a", true, 0, firstMethod), requesting("toy.b", false, 15*time.Second, secondMethod)}, never,
			[]string{firstMethod + " broken 1/1", secondMethod + " broken 1/1"}},
		{"in the same case", []suite.Case{requesting("toy.a", true, 0, firstMethod, secondMethod)}, never,
			[]string{firstMethod + " broken 1/1", secondMethod + " broken 1/1"}},
		{"only slow, at the same time", []suite.Case{requesting("toy.a", true, 0, firstMethod), requesting("toy.b", false, 0, secondMethod)}, 5 * time.Second,
			[]string{firstMethod + " broken 1/1"}},
		{"only slow, after the timeout of the first", []suite.Case{requesting("toy.a", true, 0, firstMethod), requesting("toy.b", false, 15*time.Second, secondMethod)}, 5 * time.Second,
			[]string{firstMethod + " broken 1/1"}},
		{"only slow, in the same case", []suite.Case{requesting("toy.a", true, 0, firstMethod, secondMethod)}, 5 * time.Second,
			[]string{firstMethod + " broken 1/1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				y := &toy{answer: func(_ int64, m *wire.Message) []byte {
					switch {
					case m.Method == secondMethod && c.second < never:
						time.Sleep(c.second)
					case m.Method == firstMethod, m.Method == secondMethod:
						return []byte("silence")
					}
					return nil
				}}
				o := engine.Options{Cases: c.cases, Rules: []rules.Rule{silence(pinged)}, Revisions: []spec.Revision{spec.V20250618}, Dialer: y.dialer()}
				p, err := engine.Run(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, f := range p.Findings {
					got = append(got, fmt.Sprintf("%s %v %d/%d", f.Summary, f.Outcome, f.Reproduced, f.Tries))
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("findings (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestHungServerIsReplaced checks that a case gets a fresh server if an earlier case has hung the
// shared one, even if the client waited for less than the timeout. A server that hangs in each
// inventory is replaced only once.
func TestHungServerIsReplaced(t *testing.T) {
	for _, c := range []struct {
		name    string
		hangsAt string
		fences  bool // the cases wait only for fences
		want    verdict.Outcome
		starts  int64 // at most
	}{
		{"at a request of a case", firstMethod, false, verdict.Kept, 12},
		{"before a fence of a case", firstMethod, true, verdict.Kept, 11},
		{"at the inventory", spec.MethodToolsList, false, verdict.NotObserved, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var hung sync.Map // the numbers of the starts
				y := &toy{answer: func(start int64, m *wire.Message) []byte {
					if m.Method == c.hangsAt {
						hung.Store(start, true)
					}
					if _, isHung := hung.Load(start); isHung {
						return []byte("silence")
					}
					if m.Method == spec.MethodInitialize {
						return wire.NewResult(m.ID, map[string]any{
							"protocolVersion": spec.V20250618, "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "toy", "version": "1"},
						})
					}
					return nil
				}}
				var cases []suite.Case
				for i := range 9 {
					k := requesting(fmt.Sprintf("toy.%d", i), true, 0, firstMethod)
					if c.fences {
						k.Run = func(ctx context.Context, t *suite.T) {
							conv := t.Conversation(ctx)
							_ = conv.Send(ctx, conv.Request(conv.NewID(), firstMethod, nil))
							_ = conv.Fence(ctx)
						}
					}
					cases = append(cases, k)
				}
				cases = append(cases, pinging(true))
				p, err := engine.Run(t.Context(), engine.Options{Cases: cases, Rules: []rules.Rule{silence("base.request-answered")}, Revisions: []spec.Revision{spec.V20250618}, Dialer: y.dialer()})
				if err != nil {
					t.Fatal(err)
				}
				if c.fences && len(p.Findings) > 0 {
					t.Errorf("a later case met the server that hangs: it is reported that %s got no response", p.Findings[0].Summary)
				}
				for _, v := range p.Verdicts {
					if v.Requirement == pinged && v.Outcome != c.want {
						t.Errorf("the verdict is %v, want %v", v.Outcome, c.want)
					}
				}
				if got := y.starts.Load(); got > c.starts {
					t.Errorf("the server was started %d times, want at most %d", got, c.starts)
				}
			})
		})
	}
}
