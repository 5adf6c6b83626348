package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// toy is a minimal server whose responses a test can choose.
type toy struct {
	speaks    []spec.Revision                           // default: all handshake revisions
	answer    func(start int64, m *wire.Message) []byte // called with the number of the start; nil means the usual response
	starts    atomic.Int64
	alive     atomic.Int64
	mostAlive atomic.Int64 // copies alive at once
	refuses   bool         // a second copy exits at once
	exits     func(start int64, m *wire.Message) bool
	delays    time.Duration // from the end of stdin to the output, which is buffered until then; 0 disables buffering
}

func (y *toy) dialer() transport.Dialer {
	return stdio.InProcess("toy", func(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan string) int {
		start := y.starts.Add(1)
		now := y.alive.Add(1)
		defer y.alive.Add(-1)
		for most := y.mostAlive.Load(); now > most && !y.mostAlive.CompareAndSwap(most, now); most = y.mostAlive.Load() {
		}
		if y.refuses && now > 1 {
			return 1
		}
		lines := bufio.NewScanner(in)
		if y.delays > 0 {
			buffer, pipe := new(bytes.Buffer), out
			out = buffer
			defer func() {
				<-time.After(y.delays)
				_, _ = buffer.WriteTo(pipe)
			}()
		}
		for lines.Scan() {
			for _, m := range wire.Parse(lines.Bytes()).Messages {
				if m.Kind != wire.Request {
					continue
				}
				if y.exits != nil && y.exits(start, &m) {
					return 1
				}
				var reply []byte
				if y.answer != nil {
					reply = y.answer(start, &m)
				}
				if reply == nil {
					reply = y.usualResponse(&m)
				}
				if string(reply) != "silence" {
					fmt.Fprintf(out, "%s\n", reply)
				}
			}
		}
		return 0
	})
}

func (y *toy) usualResponse(m *wire.Message) []byte {
	if m.Method != spec.MethodInitialize {
		return wire.NewResult(m.ID, map[string]any{})
	}
	speaks := y.speaks
	if speaks == nil {
		speaks = spec.HandshakeRevisions()
	}
	version := string(speaks[len(speaks)-1])
	asked, _ := wire.Text(wire.At(m.Params(), "/protocolVersion"))
	for _, r := range speaks {
		if string(r) == asked {
			version = asked
		}
	}
	return wire.NewResult(m.ID, map[string]any{"protocolVersion": version, "capabilities": map[string]any{}, "serverInfo": map[string]any{"name": "toy", "version": "1"}})
}

const pinged = "ping.empty-result" // a MUST with a keyword as its basis, in all handshake revisions

// pinging returns a case that sends a ping and expects an empty result. If shares is set, it shares
// a conversation with other cases.
func pinging(shares bool) suite.Case {
	return suite.Case{ID: "toy.ping", Title: "ping", Requirements: []string{pinged}, SharesConversation: shares, Run: func(ctx context.Context, t *suite.T) {
		c := t.Conversation(ctx)
		r := c.Do(ctx, "ping", nil)
		t.Expect(c, r).Keeps(pinged, "a ping was not answered with an empty result", suite.Satisfy("{}", func(r *client.Reply) bool {
			return string(r.Message.Result()) == "{}"
		}))
	}}
}

func judge(t *testing.T, y *toy, o engine.Options) (*verdict.Report, error) {
	t.Helper()
	o.Dialer = y.dialer()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p, err := engine.Run(ctx, o)
	if n := y.alive.Load(); n != 0 {
		t.Errorf("%d servers are still alive", n)
	}
	return p, err
}

// summary returns each verdict as "requirement revision outcome".
func summary(p *verdict.Report) []string {
	var out []string
	for _, v := range p.Verdicts {
		out = append(out, fmt.Sprintf("%s %s %v", v.Requirement, v.Revision, v.Outcome))
	}
	return out
}

func allOutcomes(outcome string, revisions ...spec.Revision) []string {
	var out []string
	for _, r := range spec.NewestFirst(revisions) {
		out = append(out, fmt.Sprintf("%s %s %s", pinged, r, outcome))
	}
	return out
}

func wrongPing(m *wire.Message) []byte {
	if m.Method == "ping" {
		return wire.NewResult(m.ID, map[string]any{"pong": true})
	}
	return nil
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	four := spec.HandshakeRevisions()
	for _, c := range []struct {
		name string
		toy  *toy
		o    engine.Options
		want []string
	}{
		{"kept, sharing", &toy{}, engine.Options{Cases: []suite.Case{pinging(true)}}, allOutcomes("kept", four...)},
		{"kept, alone", &toy{}, engine.Options{Cases: []suite.Case{pinging(false)}}, allOutcomes("kept", four...)},
		{"broken", &toy{answer: func(_ int64, m *wire.Message) []byte { return wrongPing(m) }},
			engine.Options{Cases: []suite.Case{pinging(true)}}, allOutcomes("broken", four...)},
		{"seen once is flaky", &toy{answer: func(start int64, m *wire.Message) []byte {
			if start == 1 {
				return wrongPing(m)
			}
			return nil
		}}, engine.Options{Cases: []suite.Case{pinging(true)}, Revisions: four[3:]}, allOutcomes("flaky", four[3])},
		{"only what is spoken", &toy{speaks: four[1:2]}, engine.Options{Cases: []suite.Case{pinging(true)}}, allOutcomes("kept", four[1])},
		{"not applicable", &toy{}, engine.Options{Revisions: four[:1], Cases: []suite.Case{needing("tools")}}, allOutcomes("not applicable", four[0])},
		{"no second copy", &toy{refuses: true}, engine.Options{Cases: []suite.Case{pinging(false), pinging(true)}}, allOutcomes("kept", four...)},
		{"a case that panics", &toy{}, engine.Options{Revisions: four[:1], Cases: []suite.Case{panicking()}}, allOutcomes("harness error", four[0])},
		{"a dead handshake blocks", &toy{answer: func(_ int64, m *wire.Message) []byte {
			return wire.NewError(m.ID, -32603, "no", nil)
		}}, engine.Options{Cases: []suite.Case{pinging(true)}}, allOutcomes("blocked", four[3])},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, err := judge(t, c.toy, c.o)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, summary(p)); diff != "" {
					t.Errorf("verdicts (-want +got):\n%s", diff)
				}
				if c.toy.refuses && len(p.Notices) != 1 {
					t.Errorf("notices are %q; want one that says that one copy runs at a time", p.Notices)
				}
			})
		})
	}
}

func needing(capability string) suite.Case {
	c := pinging(true)
	c.Needs = []string{capability}
	return c
}

func panicking() suite.Case {
	c := pinging(true)
	c.Run = func(context.Context, *suite.T) { panic("defect") }
	return c
}

func TestFindingHasAllParts(t *testing.T) {
	p, err := judge(t, &toy{answer: func(_ int64, m *wire.Message) []byte { return wrongPing(m) }}, engine.Options{
		Cases: []suite.Case{pinging(true)}, Revisions: []spec.Revision{spec.V20250618},
		ServerArgs: []string{"./server"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Findings) != 1 {
		t.Fatalf("got %d findings; want 1", len(p.Findings))
	}
	f := p.Findings[0]
	if f.Outcome != verdict.Broken || f.Tries != 1 || f.Reproduced != 1 || f.Permitted != "{}" || !strings.Contains(f.Seen, "pong") {
		t.Errorf("the finding is %+v", f)
	}
	if diff := cmp.Diff([]string{"mcp-conform", "run", "--revision", "2025-06-18", "--focus", pinged, "./server"}, f.Replay); diff != "" {
		t.Errorf("replay (-want +got):\n%s", diff)
	}
	if len(f.Evidence) != 2 || f.Evidence[0].Direction != ">" || f.Evidence[1].Direction != "<" || !f.Evidence[1].Offending {
		t.Errorf("the evidence is %+v", f.Evidence)
	}
}

// TestRuleFindingIsConfirmed checks that a rule's deviation in a shared
// conversation is retried with the case during which it occurred.
func TestRuleFindingIsConfirmed(t *testing.T) {
	pong := rules.Rule{ID: "rule.pong", Title: "no pong", Requirements: []string{pinged}, Start: func() rules.Fold {
		return rules.Fold{OnEvent: func(_ *rules.Session, e *transcript.Event, out *rules.Reporter) {
			if e.Kind == transcript.Received && strings.Contains(string(e.Raw), "pong") {
				out.Report(verdict.Deviation{Requirement: pinged, Summary: "pong", Permitted: "{}", Seen: "pong", At: []int{e.Seq}})
			}
		}}
	}}
	mute := pinging(true)
	run := mute.Run
	mute.Run = func(ctx context.Context, t *suite.T) { run(ctx, t) }
	p, err := judge(t, &toy{answer: func(_ int64, m *wire.Message) []byte { return wrongPing(m) }}, engine.Options{
		Cases: []suite.Case{mute}, Rules: []rules.Rule{pong}, Revisions: []spec.Revision{spec.V20250618},
		Selection: engine.Selection{Labels: "rules || toy"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Findings {
		if f.Reproduced != 1 {
			t.Errorf("%s was not reproduced: %+v", f.Judge, f)
		}
	}
	if len(p.Findings) != 2 {
		t.Errorf("got %d findings; want one of the case and one of the rule", len(p.Findings))
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	ping := []suite.Case{pinging(true)}
	answered := []rules.Rule{{ID: "rule.answered", Title: "answered", Requirements: []string{"base.request-answered"}, Start: func() rules.Fold { return rules.Fold{} }}}
	quick := 300 * time.Millisecond
	for _, c := range []struct {
		name string
		toy  *toy
		o    engine.Options
		is   func(error) bool
		want string
	}{
		{"mute", &toy{answer: func(int64, *wire.Message) []byte { return []byte("silence") }}, engine.Options{Cases: ping, StartTimeout: quick},
			isA[*engine.UnreachableError], "wrote nothing to stdout"},
		{"it does not flush its output", &toy{delays: 700 * time.Millisecond}, engine.Options{Cases: ping, StartTimeout: quick},
			isA[*engine.UnreachableError], "came only when stdin was closed"},
		{"junk", &toy{answer: func(int64, *wire.Message) []byte { return []byte("hello") }}, engine.Options{Cases: ping, StartTimeout: quick},
			isA[*engine.UnreachableError], `"hello"`},
		{"it echoes", &toy{answer: func(_ int64, m *wire.Message) []byte { return m.Raw }}, engine.Options{Cases: ping, Timeout: quick},
			isA[*engine.UnreachableError], "echoes every message"},
		{"stateless", &toy{answer: func(_ int64, m *wire.Message) []byte {
			if m.Method == spec.MethodDiscover {
				return nil
			}
			return wire.NewError(m.ID, -32022, "unsupported", nil)
		}}, engine.Options{Cases: ping, Revisions: []spec.Revision{spec.V20251125}}, isA[*engine.NothingJudgedError], "only 2026-07-28"},
		{"revision not spoken", &toy{speaks: []spec.Revision{spec.V20250618}}, engine.Options{Cases: ping, Revisions: []spec.Revision{spec.V20241105}},
			isA[*engine.NothingJudgedError], "the server does not speak 2024-11-05: the server chose 2025-06-18"},
		{"stateless revision", &toy{answer: func(_ int64, m *wire.Message) []byte {
			if m.Method == spec.MethodDiscover {
				return wire.NewError(m.ID, -32601, "Method not found", nil)
			}
			return nil
		}}, engine.Options{Rules: answered, Revisions: []spec.Revision{spec.V20260728}},
			isA[*engine.NothingJudgedError], "the server does not speak 2026-07-28: the server answered server/discover with error -32601"},
		{"other stateless revision", &toy{answer: func(_ int64, m *wire.Message) []byte {
			return wire.NewResult(m.ID, map[string]any{"supportedVersions": []string{"2027-01-01"}})
		}}, engine.Options{Rules: answered, Revisions: []spec.Revision{spec.V20260728}},
			isA[*engine.NothingJudgedError], "the server does not speak 2026-07-28: server/discover lists only 2027-01-01"},
		{"bad labels", &toy{}, engine.Options{Cases: ping, Selection: engine.Selection{Labels: "a &&"}}, isA[*engine.SelectionError], "invalid --label-filter"},
		{"bad focus", &toy{}, engine.Options{Cases: ping, Selection: engine.Selection{Focus: []string{"("}}}, isA[*engine.SelectionError], "not a regular expression"},
		{"empty selection", &toy{}, engine.Options{Cases: ping, Selection: engine.Selection{Focus: []string{"nonsense"}}}, isA[*engine.SelectionError], "matches the filters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := judge(t, c.toy, c.o)
				if err == nil || !c.is(err) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v (%T); want it to say %q", err, err, c.want)
				}
			})
		})
	}
}

// TestServerOfTheStatelessEra checks that a server that refuses initialize and
// answers server/discover is judged in 2026-07-28, in as few starts as possible.
func TestServerOfTheStatelessEra(t *testing.T) {
	const exists = "base.request-answered"
	served := suite.Case{ID: "toy.discover", Title: "discover", Requirements: []string{exists}, SharesConversation: true, Run: func(ctx context.Context, t *suite.T) {
		c := t.Conversation(ctx)
		t.Expect(c, c.Do(ctx, c.HarmlessMethod(), nil)).Keeps(exists, "no result", suite.Satisfy("a result", (*client.Reply).Succeeded))
	}}
	server := &toy{answer: func(_ int64, m *wire.Message) []byte {
		if m.Method == spec.MethodInitialize {
			return wire.NewError(m.ID, -32022, "Unsupported protocol version", map[string]any{"supported": []string{"2026-07-28"}, "requested": "x"})
		}
		return nil
	}}
	report, err := judge(t, server, engine.Options{Cases: []suite.Case{served}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{exists + " 2026-07-28 kept"}, summary(report)); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]spec.Revision{spec.V20260728}, report.Revisions); diff != "" {
		t.Errorf("revisions (-want +got):\n%s", diff)
	}
	if len(report.NotSpoken) != 4 {
		t.Errorf("not spoken: %v; want the four handshake revisions", report.NotSpoken)
	}
}

// TestServerOfBothEras checks that a server that speaks handshake revisions is judged in
// the stateless one too, but only if it lists it.
func TestServerOfBothEras(t *testing.T) {
	listing := func(versions ...string) func(int64, *wire.Message) []byte {
		return func(_ int64, m *wire.Message) []byte {
			if m.Method != spec.MethodDiscover {
				return nil
			}
			return wire.NewResult(m.ID, map[string]any{"supportedVersions": versions})
		}
	}
	served := suite.Case{ID: "toy.any", Title: "any", Requirements: []string{"base.request-answered"}, SharesConversation: true, Run: func(ctx context.Context, t *suite.T) {
		if len(spec.RevisionsInEra(spec.Stateless, t.KnownRevisions)) > 0 {
			t.GiveUp("cases rely on KnownRevisions being handshake revisions")
		}
		c := t.Conversation(ctx)
		t.Expect(c, c.Do(ctx, c.HarmlessMethod(), nil)).Keeps("base.request-answered", "no result", suite.Satisfy("a result", (*client.Reply).Succeeded))
	}}
	for _, c := range []struct {
		name   string
		answer func(int64, *wire.Message) []byte
		want   bool
	}{
		{"lists both eras", listing("2026-07-28", "2025-11-25"), true},
		{"lists the stateless revision only", listing("2026-07-28"), true},
		{"lists handshake revisions only", listing("2025-11-25"), false},
		{"answers any method with an empty result", nil, false},
		{"refuses server/discover", func(_ int64, m *wire.Message) []byte {
			if m.Method != spec.MethodDiscover {
				return nil
			}
			return wire.NewError(m.ID, -32601, "Method not found", nil)
		}, false},
		{"does not answer server/discover", func(_ int64, m *wire.Message) []byte {
			if m.Method != spec.MethodDiscover {
				return nil
			}
			return []byte("silence")
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				report, err := judge(t, &toy{answer: c.answer}, engine.Options{Cases: []suite.Case{served}})
				if err != nil {
					t.Fatal(err)
				}
				want := spec.HandshakeRevisions()
				if c.want {
					want = spec.Revisions()
				}
				if diff := cmp.Diff(spec.NewestFirst(want), report.Revisions); diff != "" {
					t.Errorf("revisions (-want +got):\n%s", diff)
				}
				if len(report.Revisions) != len(report.Verdicts) || slices.ContainsFunc(report.Verdicts, func(v verdict.Verdict) bool { return v.Outcome != verdict.Kept }) {
					t.Errorf("got %s; want the requirement kept in every revision", summary(report))
				}
				if len(report.NotSpoken)+len(report.Findings)+len(report.Notices) > 0 {
					t.Errorf("got %v, %v and %v; want none", report.NotSpoken, report.Findings, report.Notices)
				}
			})
		})
	}
}

func isA[E error](err error) bool { var e E; return errors.As(err, &e) }

// TestFilterIsAppliedBeforeTheStart checks that cases that are not selected do
// not run.
func TestFilterIsAppliedBeforeTheStart(t *testing.T) {
	ran := atomic.Int64{}
	other := suite.Case{ID: "toy.other", Title: "other", Requirements: []string{"ping.responds"}, Run: func(context.Context, *suite.T) { ran.Add(1) }}
	y := &toy{}
	p, err := judge(t, y, engine.Options{Cases: []suite.Case{pinging(true), other}, Selection: engine.Selection{Focus: []string{pinged}}})
	if err != nil {
		t.Fatal(err)
	}
	if ran.Load() != 0 || y.starts.Load() != 5 {
		t.Errorf("the other case ran %d times, %d servers were started; want 0 and 5", ran.Load(), y.starts.Load())
	}
	if diff := cmp.Diff(allOutcomes("kept", spec.HandshakeRevisions()...), summary(p)); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}

// TestRuleAloneRunsSharedCases checks that a selection that only a rule judges, and no case
// provokes, runs the cases that share a conversation, and no others.
func TestRuleAloneRunsSharedCases(t *testing.T) {
	var shared, own atomic.Int64
	cases := []suite.Case{
		{ID: "toy.shared", Title: "shared", Requirements: []string{pinged}, SharesConversation: true, Run: func(context.Context, *suite.T) { shared.Add(1) }},
		{ID: "toy.own", Title: "own", Requirements: []string{pinged}, Run: func(context.Context, *suite.T) { own.Add(1) }},
	}
	const ruled = "base.jsonrpc-2-0"
	seen := rules.Rule{ID: "rule.toy", Title: "any message", Requirements: []string{ruled}, Start: func() rules.Fold {
		return rules.Fold{}
	}}
	o := engine.Options{Cases: cases, Rules: []rules.Rule{seen}, Revisions: []spec.Revision{spec.V20251125}, Selection: engine.Selection{Focus: []string{ruled}}}
	if _, err := judge(t, &toy{}, o); err != nil {
		t.Fatal(err)
	}
	if shared.Load() != 1 || own.Load() != 0 {
		t.Errorf("the shared case ran %d times, the other %d times; want 1 and 0", shared.Load(), own.Load())
	}
}

func TestInterruptedRunIsIncomplete(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := pinging(false)
	stop.Run = func(ctx context.Context, _ *suite.T) { cancel(errors.New("enough")); <-ctx.Done() }
	y := &toy{}
	p, err := engine.Run(ctx, engine.Options{Dialer: y.dialer(), Cases: []suite.Case{stop}, Revisions: []spec.Revision{spec.V20250618}})
	if err != nil {
		t.Fatal(err)
	}
	if p.Incomplete != "enough" {
		t.Errorf("incomplete is %q", p.Incomplete)
	}
	if diff := cmp.Diff(allOutcomes("not observed", spec.V20250618), summary(p)); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}

func TestJobsBoundTheServers(t *testing.T) {
	var cases []suite.Case
	for i := range 12 {
		c := pinging(false)
		c.ID = fmt.Sprintf("toy.ping-%d", i)
		cases = append(cases, c)
	}
	y := &toy{}
	if _, err := judge(t, y, engine.Options{Cases: cases, Jobs: 1}); err != nil {
		t.Fatal(err)
	}
	// The probe has four servers. With one job, the cases have at most eight more (see maxAlive),
	// of which all but one only wait.
	if most := y.mostAlive.Load(); most > 12 {
		t.Errorf("%d servers were alive at once", most)
	}
}

// TestWaitingReleasesTheSlot checks that a case that waits for a response
// releases its slot. The server responds to either of two requests only after
// it has received both, although only one case may work at a time.
func TestWaitingReleasesTheSlot(t *testing.T) {
	const slow = "slow/answer"
	var answered atomic.Int64
	var cases []suite.Case
	for i := range 2 {
		cases = append(cases, suite.Case{
			ID: fmt.Sprintf("toy.slow-%d", i), Title: "slow", Requirements: []string{pinged}, OwnServer: true,
			Run: func(ctx context.Context, t *suite.T) {
				if t.Conversation(ctx).Do(ctx, slow, nil).Answered() {
					answered.Add(1)
				}
			},
		})
	}
	var asked atomic.Int64
	both := make(chan struct{})
	y := &toy{answer: func(_ int64, m *wire.Message) []byte {
		if m.Method == slow {
			if asked.Add(1) == 2 {
				close(both)
			}
			<-both
		}
		return nil
	}}
	if _, err := judge(t, y, engine.Options{Cases: cases, Jobs: 1, Timeout: 5 * time.Second, Revisions: []spec.Revision{spec.V20250618}}); err != nil {
		t.Fatal(err)
	}
	if n := answered.Load(); n != 2 {
		t.Errorf("%d of 2 requests were answered", n)
	}
}
