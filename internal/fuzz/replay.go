package fuzz

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// File returns the finding as a replay file.
func (f *Finding) File() *script.File {
	var did []string
	for _, d := range f.OwnMessages() {
		did = append(did, fmt.Sprintf("after operation %d: %s", d.After+1, d.Text))
	}
	return &script.File{
		Version: script.FileVersion, Transport: f.Transport, Script: f.Script, Seed: f.Case, Reproduced: [2]int{f.Retries.Reproduced, f.Retries.Attempts}, OwnMessages: did,
		Expect: script.Expected{
			Law: f.Law, Requirement: f.Requirement, Summary: f.Summary, Method: f.Method, Outcome: f.Outcome.String(),
			Permitted: f.Permitted, Seen: f.Seen,
		},
	}
}

// A Verdict is the result of a replay.
type Verdict string

// The verdicts of a replay.
const (
	Fixed       Verdict = "FIXED"
	StillBroken Verdict = "STILL BROKEN"
	CannotTell  Verdict = "CANNOT TELL"
)

// A ReplayResult is the verdict of a replay, with the reason for it.
type ReplayResult struct {
	Verdict Verdict
	// Reason is the reason for the verdict, in a sentence.
	Reason string
	// NotSpoken is set if the server did not complete the handshake in the
	// revision.
	NotSpoken bool
	Retries   verdict.Retries
	// Candidate is the finding if it recurred, otherwise nil. Evidence is the execution that shows
	// it, or else the last one.
	Candidate *Candidate
	Evidence  *Execution
}

// Replay plays a replay file several times, each time on a fresh server if possible. The verdict is
// Fixed if the finding did not recur in enough attempts, and if each of these could have shown it.
func Replay(ctx context.Context, o Options, r *script.File) (*ReplayResult, error) {
	o = o.withDefaults()
	laws := slices.DeleteFunc(slices.Clone(o.Laws), func(l Law) bool { return l.ID != r.Expect.Law })
	if len(laws) == 0 {
		return nil, fmt.Errorf("the replay file needs the law %q, which this program does not have", r.Expect.Law)
	}
	before := verdict.Retries{Reproduced: r.Reproduced[0], Attempts: r.Reproduced[1]}
	out := &ReplayResult{Verdict: CannotTell, Retries: verdict.Retries{Limit: before.AttemptsUntilFixed()}}
	if over := o.Dialer.Transport(); over != r.Transport {
		out.Reason = fmt.Sprintf("the finding is about %s, and this server is reached over %s", r.Transport, over)
		return out, nil
	}
	server, _, err := Probe(ctx, o.Dialer, r.Script.Revision, o.Policy, client.Options{Timeout: o.Timeout, StartTimeout: o.Start})
	if err != nil {
		return nil, err
	}
	if server == nil {
		out.NotSpoken, out.Reason = true, "the server does not complete the handshake in "+string(r.Script.Revision)
		if r.Script.Revision.Era() == spec.Stateless {
			out.Reason = "the server does not speak " + string(r.Script.Revision)
		}
		return out, nil
	}
	if why := server.whyUnplayable(&r.Script); why != "" {
		out.Reason = why
		return out, nil
	}
	expected := expectedKey(r.Expect)
	executor, judge := newExecutor(o), newJudge(o)
	executor.finalWait = FinalWait(r.Expect.Requirement)
	inconclusive := ""
	var shown *Candidate // the candidate in the latest execution that shows the finding
	for !out.Retries.Done() {
		if ctx.Err() != nil {
			out.Reason = context.Cause(ctx).Error()
			return out, nil
		}
		x := executor.playFresh(ctx, server, r.Script, o.Timeout)
		found := findCandidate(laws, x, expected)
		if found == nil && x.WaitedBriefly() && ctx.Err() == nil { // a slow server must not look like a fixed one
			x = executor.playPatiently(ctx, server, r)
			found = findCandidate(laws, x, expected)
		}
		if ctx.Err() != nil && found == nil {
			out.Reason = context.Cause(ctx).Error()
			return out, nil
		}
		if found != nil {
			effect, why := judge.discount(x, found)
			if out.Retries.Record(effect != discount.Void); effect == discount.Void {
				inconclusive, out.Evidence = why, x
				continue
			}
			shown, out.Evidence = found, x
			if out.Retries.EachTime = effect == discount.EachTime; out.Retries.EachTime {
				inconclusive = why
				continue
			}
			out.Verdict, out.Candidate, out.Reason = StillBroken, shown, "the finding recurred"
			return out, nil
		}
		out.Retries.Record(false)
		if why := x.whyInconclusive(laws[0], r.Expect.Requirement); why != "" {
			inconclusive = why
			if end := x.Ended(); end != "" {
				inconclusive += ": " + end
			}
		}
		out.Evidence = x
	}
	if out.Retries.Reproduced == out.Retries.Attempts {
		out.Verdict, out.Candidate, out.Reason = StillBroken, shown, fmt.Sprintf("the finding recurred in each of %d attempts", out.Retries.Attempts)
		return out, nil
	}
	if inconclusive != "" {
		out.Reason = inconclusive
		return out, nil
	}
	out.Verdict, out.Reason = Fixed, fmt.Sprintf("the finding was not reproduced in %d attempts, and the requirement was observed", out.Retries.Attempts)
	return out, nil
}

// ReproduceCandidate plays a script on a fresh server, and returns the candidate with mistake m. It
// returns nil if there is none, if a discount voids it, or if operations were skipped.
func ReproduceCandidate(ctx context.Context, o Options, server *ServerInfo, sc script.Script, m verdict.Mistake) *Candidate {
	o = o.withDefaults()
	executor := newExecutor(o)
	executor.finalWait = FinalWait(m.Requirement)
	x := executor.playFresh(ctx, server, sc, o.Timeout)
	if ctx.Err() != nil || len(x.Skipped) > 0 {
		return nil
	}
	for _, c := range newJudge(o).candidates(o.Laws, x) {
		if c.Mistake() == m {
			return &c
		}
	}
	return nil
}

// findCandidate returns the candidate with the key in an execution, or nil.
func findCandidate(laws []Law, x *Execution, k verdict.SearchKey) *Candidate {
	for _, c := range Judge(laws, x) {
		if c.Key() == k {
			return &c
		}
	}
	return nil
}

// whyInconclusive returns why an execution without the finding does not show that it is fixed, or
// "".
func (x *Execution) whyInconclusive(law Law, requirement string) string {
	switch {
	case x.Refused != nil:
		return "the server could not be reached: " + x.Refused.Error()
	case len(x.Skipped) > 0:
		return fmt.Sprintf("operation %d could not be performed", x.Skipped[0]+1)
	case slices.ContainsFunc(x.Conversations, func(t *script.Conversation) bool { return t.Unresponsive }):
		return "the server stopped responding"
	case law.Observed != nil && !law.Observed(x, requirement):
		return "the requirement was not observed"
	case x.Unanswered() != "":
		return "there was no response to " + x.Unanswered()
	}
	return ""
}

// whyUnplayable describes the first tool call of the script that cannot be played: the policy
// forbids the tool, or the server does not list it, although it is one of Script.Tools. It returns
// "" if there is none.
func (s *ServerInfo) whyUnplayable(sc *script.Script) string {
	for _, c := range sc.ToolCalls() {
		switch {
		case slices.Contains(s.Callable, c.Tool):
		case slices.Contains(s.Forbidden, c.Tool):
			return fmt.Sprintf("operation %d calls the tool %q, which must not be called; see --call-tools", c.Operation+1, c.Tool)
		case sc.Operations[c.Operation].Violates == "" && slices.Contains(sc.Tools, c.Tool):
			return fmt.Sprintf("operation %d calls the tool %q, which the server does not list", c.Operation+1, c.Tool)
		}
	}
	return ""
}

// FinalWait returns how long to wait at the end of a script for notifications, if the requirement
// is about any; otherwise 0.
func FinalWait(requirement string) time.Duration {
	if spec.Requirements().Has(requirement, spec.Notice) {
		return verdict.NoticeTime
	}
	return 0
}
