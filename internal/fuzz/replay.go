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
	for _, d := range f.ByItself() {
		did = append(did, fmt.Sprintf("after operation %d: %s", d.After+1, d.Text))
	}
	return &script.File{
		Version: script.FileVersion, Transport: f.Transport, Script: f.Script, Seed: f.Case, Reproduced: [2]int{f.Retries.Reproduced, f.Retries.Attempts}, ByItself: did,
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

// Replayed is the verdict of a replay, with the reason for it.
type Replayed struct {
	Verdict Verdict
	// Why is the reason for the verdict, in a sentence.
	Why string
	// Unspoken reports that the server did not complete the handshake in the
	// revision.
	Unspoken  bool
	Retries   verdict.Retries
	Candidate *Candidate
	Evidence  *Outcome
}

// Replay plays a replay file on a server, each time on a fresh one if possible.
// Fixed means that the finding did not recur in enough attempts.
func Replay(ctx context.Context, o Options, r *script.File) (*Replayed, error) {
	o = o.withDefaults()
	laws := slices.DeleteFunc(slices.Clone(o.Laws), func(l Law) bool { return l.ID != r.Expect.Law })
	if len(laws) == 0 {
		return nil, fmt.Errorf("the replay file rests on the law %q, which this program does not have", r.Expect.Law)
	}
	before := verdict.Retries{Reproduced: r.Reproduced[0], Attempts: r.Reproduced[1]}
	out := &Replayed{Verdict: CannotTell, Retries: verdict.Retries{Limit: before.ToRefute()}}
	if over := o.Dialer.Transport(); over != r.Transport {
		out.Why = fmt.Sprintf("it was seen over %s, and this server is reached over %s", r.Transport, over)
		return out, nil
	}
	place, _, err := Probe(ctx, o.Dialer, r.Script.Revision, o.Policy, client.Options{Timeout: o.Timeout, StartTimeout: o.Start})
	if err != nil {
		return nil, err
	}
	if place == nil {
		out.Unspoken, out.Why = true, "the server does not complete the handshake in "+string(r.Script.Revision)
		if r.Script.Revision.Era() == spec.Stateless {
			out.Why = "the server does not speak " + string(r.Script.Revision)
		}
		return out, nil
	}
	if why := place.lacks(&r.Script); why != "" {
		out.Why = why
		return out, nil
	}
	wanted := Candidate{Breach: Breach{Deviation: verdict.Deviation{Requirement: r.Expect.Requirement, Summary: r.Expect.Summary}}, Method: r.Expect.Method}
	s := newSearch(o)
	s.pace, s.linger = limiter(o.Rate), Linger(r.Expect.Requirement)
	doubt := ""
	for !out.Retries.Done() {
		if ctx.Err() != nil {
			out.Why = context.Cause(ctx).Error()
			return out, nil
		}
		got := s.playFresh(ctx, place, r.Script, s.Timeout)
		sight := wanted.in(laws, got)
		if sight == nil && got.Hurried() && ctx.Err() == nil { // otherwise a slow server would look like a fixed one
			got = s.patiently(ctx, place, r)
			sight = wanted.in(laws, got)
		}
		if ctx.Err() != nil && sight == nil {
			out.Why = context.Cause(ctx).Error()
			return out, nil
		}
		if sight != nil {
			effect, why := s.discount(got, sight)
			if out.Retries.Record(effect != discount.Void); effect == discount.Void {
				doubt, out.Evidence = why, got
				continue
			}
			out.Verdict, out.Candidate, out.Evidence = StillBroken, sight, got
			out.Why = "the finding came back"
			return out, nil
		}
		out.Retries.Record(false)
		if why := got.doubt(laws[0], r.Expect.Requirement); why != "" {
			doubt = why
			if end := got.Ended(); end != "" {
				doubt += ": " + end
			}
		}
		out.Evidence = got
	}
	if doubt != "" {
		out.Why = doubt
		return out, nil
	}
	out.Verdict, out.Why = Fixed, fmt.Sprintf("the finding was not reproduced in %d attempts, and the requirement was observed", out.Retries.Attempts)
	return out, nil
}

// in returns the candidate of the same finding in an outcome, or nil.
func (s *Candidate) in(laws []Law, o *Outcome) *Candidate {
	for _, sight := range Judge(laws, o) {
		if sight.Key() == s.Key() {
			return &sight
		}
	}
	return nil
}

// patiently plays the script on a fresh server and waits for all responses. If
// the finding is about cancelled requests, those still pending at the end are
// cancelled at once.
func (s *search) patiently(ctx context.Context, place *Surroundings, r *script.File) *Outcome {
	d, end := fresh(s.Dialer)
	defer end()
	p := s.player(d, place, s.Timeout)
	p.Patient, p.CancelsOpen = true, spec.AreaOf(r.Expect.Requirement) == spec.AreaCancellation
	return s.play(ctx, p, place, r.Script)
}

// doubt returns the reason why an outcome without the finding shows nothing, or
// "".
func (o *Outcome) doubt(law Law, requirement string) string {
	switch {
	case o.Refused != nil:
		return "the server could not be reached: " + o.Refused.Error()
	case len(o.Skipped) > 0:
		return fmt.Sprintf("operation %d could not be carried out", o.Skipped[0]+1)
	case slices.ContainsFunc(o.Conversations, func(t *script.Conversation) bool { return t.Deaf }):
		return "the server did not answer to the end"
	case law.Observed != nil && !law.Observed(o, requirement):
		return "the requirement was not observed"
	case o.Unanswered() != "":
		return "there was no answer to " + o.Unanswered()
	}
	return ""
}

// lacks returns a description of a tool call in the script that the server does
// not offer or the policy forbids, or "".
func (p *Surroundings) lacks(s *script.Script) string {
	for _, c := range s.ToolCalls() {
		switch {
		case slices.Contains(p.Callable, c.Tool):
		case slices.Contains(p.Forbidden, c.Tool):
			return fmt.Sprintf("operation %d calls the tool %q, which must not be called; see --call-tools", c.Operation+1, c.Tool)
		case s.Operations[c.Operation].Violates == "" && slices.Contains(s.Tools, c.Tool):
			return fmt.Sprintf("operation %d calls the tool %q, which the server does not list", c.Operation+1, c.Tool)
		}
	}
	return ""
}

// Linger returns how long to wait at the end of a script for a notification
// that the requirement is about.
func Linger(requirement string) time.Duration {
	if spec.Requirements().Has(requirement, spec.Notice) {
		return verdict.NoticeTime
	}
	return 0
}
