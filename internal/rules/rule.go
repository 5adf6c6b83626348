package rules

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Rule is one passive check.
type Rule struct {
	ID           string   // words, rule.what-is-checked
	Title        string   // what is looked at, in one line
	Requirements []string // catalogue ids that the rule judges
	// Start returns a fresh fold over one transcript.
	Start func() Fold
}

// Fold is the state of one rule over one transcript. Each member may be nil.
type Fold struct {
	// Shared lists the shared states that the rule reads.
	Shared []SharedState
	// OnMessage is called for messages by their topic. It is preferred to See.
	OnMessage Handlers
	// OnEvent is called for each event, after the session took note of it.
	OnEvent func(s *Session, e *transcript.Event, out *Reporter)
	// AtEnd is called once after the last event.
	AtEnd func(s *Session, out *Reporter)
}

// Result is what one rule concludes on one requirement over one transcript.
type Result struct {
	Rule        string
	Requirement string
	Revision    spec.Revision
	CameUp      int // how often it came up
	Deviations  []verdict.Deviation
	// Unclear says why what came up shows nothing, such as a refusal that an
	// ordinary request gets, too; "" where nothing of the kind came up.
	Unclear string

	elsewhere bool
}

// maxDeviations bounds the deviations kept a rule, requirement and summary:
// a server that errs in every message errs once.
const maxDeviations = 3

// Reporter takes what a rule has to say.
type Reporter struct {
	rule    *Rule
	session *Session
	results map[string]*Result // by requirement; nil where that does not exist in the revision
}

// CameUp says that the requirement came up once.
func (o *Reporter) CameUp(requirement string) {
	if r := o.result(requirement); r != nil {
		r.CameUp++
	}
}

// CameUpTimes says that the requirement came up n times.
func (o *Reporter) CameUpTimes(requirement string, n int) {
	if r := o.result(requirement); r != nil {
		r.CameUp += n
	}
}

// Deviates says that the server deviates; the requirement came up, too.
func (o *Reporter) Deviates(d verdict.Deviation) {
	r := o.result(d.Requirement)
	if r == nil {
		return
	}
	r.CameUp++
	same := 0
	for _, have := range r.Deviations {
		if have.Summary == d.Summary {
			same++
		}
	}
	if same < maxDeviations {
		r.Deviations = append(r.Deviations, d)
	}
}

// Elsewhere says that the requirement was not kept, and that the finding
// stands under another one, which has the same cause. Of this conversation it
// can't be said then that the requirement was kept.
func (o *Reporter) Elsewhere(requirement string) {
	if r := o.result(requirement); r != nil {
		r.elsewhere = true
	}
}

// Unclear says that the requirement was provoked and why that showed nothing.
func (o *Reporter) Unclear(requirement, why string) {
	if r := o.result(requirement); r != nil && r.Unclear == "" {
		r.Unclear = why
	}
}

// result returns nil where the requirement does not exist in the revision.
func (o *Reporter) result(requirement string) *Result {
	r, known := o.results[requirement]
	if !known { // one conversation is judged by one revision
		if !slices.Contains(o.rule.Requirements, requirement) {
			panic(fmt.Sprintf("rule %s speaks of %s, which it does not list", o.rule.ID, requirement))
		}
		rev := o.session.Revision()
		if spec.Requirements().Lookup(requirement).AppliesTo(rev, o.session.Transport) {
			r = &Result{Rule: o.rule.ID, Requirement: requirement, Revision: rev}
		}
		o.results[requirement] = r
	}
	return r
}

// Judge folds all rules over the events of one conversation. The revision is
// the one asked for; what the server negotiates overrides it, for all of the
// conversation.
func Judge(all []Rule, events []*transcript.Event, asked spec.Revision, t spec.Transport) []Result {
	out, _ := JudgeUntil(context.Background(), all, events, asked, t)
	return out
}

// JudgeUntil is Judge, and returns an error in place of results, the cause of
// the end of the context, when that ends before the rules are done: a rule that
// has not heard everything may be wrong.
func JudgeUntil(ctx context.Context, all []Rule, events []*transcript.Event, asked spec.Revision, t spec.Transport) ([]Result, error) {
	s, runs := fold(ctx, all, events, asked, t)
	for _, r := range runs {
		if ctx.Err() != nil {
			break
		}
		if r.fold.AtEnd != nil {
			r.fold.AtEnd(s, r.out)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return results(runs), nil
}

// SoFar is Judge for a conversation that goes on: it returns what the rules
// have found by now, whatever follows, and nothing that they say at its end.
func SoFar(all []Rule, events []*transcript.Event, asked spec.Revision, t spec.Transport) []Result {
	_, runs := fold(context.Background(), all, events, asked, t)
	return results(runs)
}

// ruleRun is one rule over one conversation.
type ruleRun struct {
	fold Fold
	out  *Reporter
}

// fold folds all rules over the events, until the context ends.
func fold(ctx context.Context, all []Rule, events []*transcript.Event, asked spec.Revision, t spec.Transport) (*Session, []ruleRun) {
	s := NewSession(asked, t)
	s.lines = readLines(events, t)
	s.negotiatedRevision = agreed(events, s)
	runs := make([]ruleRun, 0, len(all))
	listeners := newDispatcher(s)
	var watchers []ruleRun
	for i := range all {
		r := ruleRun{all[i].Start(), &Reporter{&all[i], s, map[string]*Result{}}}
		runs = append(runs, r)
		listeners.add(r.fold, r.out)
		if r.fold.OnEvent != nil {
			watchers = append(watchers, r)
		}
	}
	ended := ctx.Done()
	for _, e := range events {
		s.noteEvent(e)
		for _, r := range watchers {
			if isClosed(ended) {
				return s, runs
			}
			r.fold.OnEvent(s, e, r.out)
		}
		listeners.dispatchEvent(e, ended)
	}
	return s, runs
}

// isClosed reports whether a channel on which nothing is sent is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func results(runs []ruleRun) []Result {
	var out []Result
	for _, r := range runs {
		for _, requirement := range r.out.rule.Requirements {
			res := r.out.results[requirement]
			if res != nil && (len(res.Deviations) > 0 || (res.CameUp > 0 || res.Unclear != "") && !res.elsewhere) {
				out = append(out, *res)
			}
		}
	}
	return out
}

// agreed returns the revision that the conversation comes to, or "".
func agreed(events []*transcript.Event, like *Session) spec.Revision {
	scout := NewSession(like.requestedRevision, like.Transport)
	scout.lines = like.lines
	for _, e := range events {
		if scout.ServerCapabilities != nil { // the answer to initialize was read, which says it once for all
			break
		}
		scout.noteEvent(e)
	}
	return scout.negotiatedRevision
}

// onMessage makes a fold that looks at each message from the server that could
// be read, event being the last line that it stands on.
func onMessage(see func(s *Session, e *transcript.Event, m *wire.Message, out *Reporter)) Fold {
	return Fold{OnEvent: func(s *Session, e *transcript.Event, out *Reporter) {
		for _, m := range received(s, e) {
			see(s, e, m, out)
		}
	}}
}

// received returns the messages that were read up to event e.
func received(s *Session, e *transcript.Event) []*wire.Message {
	if e.Kind != transcript.Received || e.IsCut() {
		return nil
	}
	got := s.reading(e)
	if got == nil {
		return nil
	}
	return got.messages
}

// Stateless wraps a fold that keeps no state of its own.
func Stateless(f Fold) func() Fold { return func() Fold { return f } }

// Excerpt returns the beginning of what the server said, for Deviation.Seen.
func Excerpt[T ~string | ~[]byte](b T) string { return excerpt(b) }

// At returns the positions of events for Deviation.At, in the order given,
// without those that are nil or repeat the one before.
func At(events ...*transcript.Event) []int { return at(events...) }
