package ruleset_test

import (
	"os"
	"slices"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// heavy returns the first deviation that is more severe than a note, or nil.
func heavy(results []rules.Result) (*rules.Result, *verdict.Deviation) {
	for i := range results {
		r := &results[i]
		for j := range r.Deviations {
			if r.Deviations[j].Outcome(spec.Requirements().Lookup(r.Requirement), r.Revision) > verdict.Note {
				return r, &r.Deviations[j]
			}
		}
	}
	return nil, nil
}

// prefixes is the maximum number of prefixes judged of a transcript.
const prefixes = 40

// cuts returns the positions at which a conversation of n events is cut off; salt varies them for
// transcripts of the same length.
func cuts(n, salt int) []int {
	if n <= prefixes || os.Getenv("MCP_CONFORM_EVERY_PREFIX") != "" {
		out := make([]int, n)
		for i := range out {
			out[i] = i
		}
		return out
	}
	var out []int
	for i := range prefixes {
		out = append(out, (i*n+salt%n)/prefixes)
	}
	return out
}

// gaveUpEarly reports whether, in the first n events, the client gave up on a request that was
// answered later. That prefix has a legitimate finding.
func gaveUpEarly(events []*transcript.Event, n int) bool {
	for _, e := range events[:n] {
		if e.Kind != transcript.GaveUp {
			continue
		}
		for _, m := range events[e.Of].Messages() {
			for _, late := range events[n:] {
				if late.Kind == transcript.Received && slices.ContainsFunc(late.Messages(), func(r wire.Message) bool { return r.Kind == wire.Response && r.ID.Same(m.ID) }) {
					return true
				}
			}
		}
	}
	return false
}

// isInResponse reports whether after n events the server is in the middle of a response other than
// an event stream, whose body is still to come.
func isInResponse(events []*transcript.Event, n int) bool {
	last := events[max(0, n-1)]
	return last.Kind == transcript.Responded && transcript.ParseHead(last.Raw).MediaType() != transcript.EventStream
}

// TestPrefixesOfKeptTranscripts checks that a legal conversation is legal at any time, so that an
// open one may be judged: what has not come yet is not counted as a failure.
// MCP_CONFORM_EVERY_PREFIX=1 tests every prefix, which takes a few seconds more.
func TestPrefixesOfKeptTranscripts(t *testing.T) {
	salt := 0
	for _, folder := range []string{"kept", "recorded"} {
		for _, g := range goldens(t, folder) {
			t.Run(folder+"/"+g.file, func(t *testing.T) {
				salt++
				for _, n := range cuts(len(g.Events), salt) {
					if gaveUpEarly(g.Events, n) || isInResponse(g.Events, n) {
						continue
					}
					if r, d := heavy(g.judge(g.Events[:n])); d != nil {
						t.Errorf("after %d events: %s of %s: %s (%s)", n, r.Requirement, r.Rule, d.Summary, d.Seen)
						return
					}
				}
			})
		}
	}
}

// TestWhatWasFoundStays checks that findings on a prefix are also findings on the whole
// conversation. Prefixes end before a message of the client, because the server may be in the
// middle of a message at other times.
func TestWhatWasFoundStays(t *testing.T) {
	found, all := 0, ruleset.All()
	for _, g := range goldens(t, "broken") {
		whole := expectationsOf(g.judge(g.Events))
		for n, e := range g.Events {
			if n == 0 || e.Kind != transcript.Sent || g.Events[n-1].Kind == transcript.Sent {
				continue
			}
			for _, e := range expectationsOf(rules.SoFar(all, g.Events[:n], spec.Revision(g.Revision), spec.Transport(g.Transport))) {
				found++
				if !slices.Contains(whole, e) {
					t.Errorf("%s: found after %d events, and not in the whole: %s %s: %s", g.file, n, e.Requirement, e.Outcome, e.Summary)
				}
			}
		}
	}
	if found == 0 {
		t.Error("nothing is found while a conversation goes on")
	}
}
