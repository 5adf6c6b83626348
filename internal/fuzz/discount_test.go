package fuzz

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// failingServer is a server that answers every ping with an error.
func failingServer(code spec.Code) stdio.Serve {
	return func(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan string) int {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			for _, m := range wire.Parse(lines.Bytes()).Messages {
				switch m.Method {
				case spec.MethodInitialize:
					fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"a","version":"1"}}}`+"\n", m.ID.Raw(), spec.V20250618)
				case spec.MethodPing:
					fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`+"\n", m.ID.Raw(), code)
				}
			}
		}
		return 0
	}
}

// TestBusyErrorMustRecur checks that a finding whose evidence may mean that the server
// was busy counts only if every retry shows it, and any other if one does.
func TestBusyErrorMustRecur(t *testing.T) {
	const shows, misses, isNotPlayed = "shows it", "does not show it", "is not played, because the search is interrupted"
	for _, c := range []struct {
		code spec.Code
		last string // what the last retry does
		want verdict.Outcome
	}{
		{spec.CodeInternal, shows, verdict.Broken},
		{spec.CodeInternal, misses, verdict.Flaky},
		{spec.CodeInternal, isNotPlayed, verdict.Unconfirmed},
		{spec.CodeMethodNotFound, shows, verdict.Broken},
		{spec.CodeMethodNotFound, misses, verdict.Broken},
		{spec.CodeMethodNotFound, isNotPlayed, verdict.Broken},
	} {
		t.Run(fmt.Sprintf("%d, the last retry %s", c.code, c.last), func(t *testing.T) {
			all := 0
			f := investigatedFinding(t.Context(), t, c.code, func() bool { all++; return true })
			if c.last != shows {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				plays := 0
				f = investigatedFinding(ctx, t, c.code, func() bool {
					if plays++; plays == all-1 && c.last == isNotPlayed {
						cancel()
					}
					return plays < all
				})
			}
			if f.Outcome != c.want || f.unretried != (c.want == verdict.Unconfirmed) {
				t.Errorf("the finding is %s, unretried %t; want %s", f.Outcome, f.unretried, c.want)
			}
		})
	}
}

// investigatedFinding investigates an error response to a ping, which recurs when isShown returns true,
// and returns the finding.
func investigatedFinding(ctx context.Context, t *testing.T, code spec.Code, isShown func() bool) *Finding {
	t.Helper()
	o := Options{Dialer: stdio.InProcess("failing", failingServer(code)), Laws: []Law{pingsSucceed(isShown)}}.withDefaults()
	s := newSearch(o)
	server, _, err := Probe(t.Context(), o.Dialer, spec.V20250618, inventory.Config{Policy: inventory.CallNone}, client.Options{Timeout: s.Timeout, StartTimeout: s.Start})
	if err != nil || server == nil {
		t.Fatal("the server can't be probed", err)
	}
	first := s.executor.playFresh(t.Context(), server, pingScript, searchTimeout)
	candidates := s.judge.candidates(o.Laws, first)
	if len(candidates) != 1 {
		t.Fatalf("%d candidates", len(candidates))
	}
	return s.investigate(ctx, input{script: pingScript, server: server}, first, candidates[0])
}

// pingScript is a script with a ping.
var pingScript = script.Script{Revision: spec.V20250618, Operations: []script.Operation{{
	Do: script.Send, Method: spec.MethodPing, Await: true, Message: wire.NewRequest(wire.IntID(100), spec.MethodPing, nil),
}}}

// pingsSucceed returns a law that an error to a ping breaks, if isShown returns true.
func pingsSucceed(isShown func() bool) Law {
	return Law{ID: "pings", Judge: func(o *Execution) []Breach {
		for _, c := range o.Conversations {
			for e, m := range transcript.Messages(c.Events, transcript.Received) {
				if m.IsError() && isShown() {
					return []Breach{{Deviation: verdict.Deviation{Requirement: "ping.responds", Summary: "It failed.", At: []int{e.Seq}}}}
				}
			}
		}
		return nil
	}}
}

// TestMethodOfAFence checks that a finding has the method of the request to which the response
// belongs, even if that request was a fence: it is chance which wrong response comes first.
func TestMethodOfAFence(t *testing.T) {
	fence := script.Script{Revision: spec.V20250618, Operations: []script.Operation{{Do: script.Fence}}}
	for name, sc := range map[string]script.Script{"a ping": pingScript, "a fence": fence} {
		o := Options{Dialer: stdio.InProcess("failing", failingServer(spec.CodeInternal)), Laws: []Law{pingsSucceed(func() bool { return true })}}.withDefaults()
		s := newSearch(o)
		server, _, err := Probe(t.Context(), o.Dialer, spec.V20250618, inventory.Config{Policy: inventory.CallNone}, client.Options{Timeout: s.Timeout, StartTimeout: s.Start})
		if err != nil || server == nil {
			t.Fatal("the server can't be probed", err)
		}
		got := s.judge.candidates(o.Laws, s.executor.playFresh(t.Context(), server, sc, searchTimeout))
		if len(got) != 1 || got[0].Method != spec.MethodPing {
			t.Errorf("%s: the candidates are %+v, want one of ping", name, got)
		}
	}
}

// TestReplayOfBusyError checks that a replay reports a finding as still broken that each
// attempt has to show only if each shows it.
func TestReplayOfBusyError(t *testing.T) {
	for _, c := range []struct {
		code  spec.Code
		shows int // the number of attempts that show it
		want  Verdict
	}{
		{spec.CodeInternal, verdict.MaxAttempts, StillBroken},
		{spec.CodeInternal, 1, CannotTell},
		{spec.CodeInternal, 0, Fixed},
		{spec.CodeMethodNotFound, 1, StillBroken},
	} {
		plays := 0
		o := Options{Dialer: stdio.InProcess("failing", failingServer(c.code)), Laws: []Law{pingsSucceed(func() bool { plays++; return plays <= c.shows })}}
		file := &script.File{Script: pingScript, Transport: spec.Stdio, Reproduced: [2]int{3, 3}}
		file.Expect = script.Expected{Law: "pings", Requirement: "ping.responds", Summary: "It failed.", Method: spec.MethodPing}
		got, err := Replay(t.Context(), o, file)
		if err != nil || got.Verdict != c.want {
			t.Errorf("%d, shown by %d attempts: %v, %v, want %v", c.code, c.shows, got, err, c.want)
		}
	}
}

// TestDiscountsOfARun checks that a search uses the discounts of its run: here a response that may
// belong to another client does not count.
func TestDiscountsOfARun(t *testing.T) {
	for conversations, want := range map[int]int{1: 1, 2: 0} {
		o := Options{Discounts: discount.NewRun()}
		o.Discounts.NoteMixing()
		x := &Execution{Playback: &script.Playback{Script: script.Script{Revision: spec.V20241105}, Transport: spec.SSE}}
		for range conversations {
			x.Conversations = append(x.Conversations, &script.Conversation{})
		}
		got := newJudge(o).candidates([]Law{{ID: "pings", Judge: func(*Execution) []Breach {
			return []Breach{{Deviation: verdict.Deviation{Requirement: "ping.responds", Summary: "It failed."}}}
		}}}, x)
		if len(got) != want {
			t.Errorf("%d candidates in %d conversations, want %d", len(got), conversations, want)
		}
	}
}

// TestGatewayResponseIsNoCandidate checks that breaches of a law do not count if something in front of
// the server responded, and that those of rules do: rules consider that themselves.
func TestGatewayResponseIsNoCandidate(t *testing.T) {
	const busy = "transport: streamable-http\n\n1> POST / HTTP/1.1\n1> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n1< HTTP/1.1 503 Service Unavailable\n1! complete\n"
	recording, err := transcript.ParseScript(busy)
	if err != nil {
		t.Fatal(err)
	}
	o := &Execution{Playback: &script.Playback{
		Script: script.Script{Revision: spec.V20250618}, Transport: spec.StreamableHTTP,
		Conversations: []*script.Conversation{{Events: recording.Events}},
	}}
	for law, want := range map[string]int{"pings": 0, rulesLaw: 1} {
		got := newJudge(Options{}).candidates([]Law{{ID: law, Judge: func(*Execution) []Breach {
			return []Breach{{Deviation: verdict.Deviation{Requirement: "ping.responds", Summary: "It failed."}}}
		}}}, o)
		if len(got) != want {
			t.Errorf("%d candidates by %s, want %d", len(got), law, want)
		}
	}
}
