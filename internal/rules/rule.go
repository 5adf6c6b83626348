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
	ID           string   // starts with "rule."
	Title        string   // what is checked, in one line
	Requirements []string // catalogue ids that the rule judges; the rule runs only where one of them exists
	// Start returns a fresh fold over one transcript.
	Start func() Fold
}

// Fold is the state of one rule over one transcript. Each member may be nil.
type Fold struct {
	// Shared lists the shared states that the rule reads.
	Shared []SharedState
	// OnMessage has the handlers of messages by topic. Prefer it to OnEvent.
	OnMessage Handlers
	// OnEvent is called for each event, after the session has recorded it.
	OnEvent func(s *Session, e *transcript.Event, out *Reporter)
	// AtEnd is called once after the last event.
	AtEnd func(s *Session, out *Reporter)
}

// appliesTo reports whether the rule judges one of the requirements. It returns true for a rule
// without requirements, which only tests have.
func (r *Rule) appliesTo(requirements map[string]bool) bool {
	return len(r.Requirements) == 0 || slices.ContainsFunc(r.Requirements, func(id string) bool { return requirements[id] })
}

// Result is the outcome of one rule for one requirement over one transcript.
type Result struct {
	Rule        string
	Requirement string
	Revision    spec.Revision
	Observed    int // how often the requirement was observed
	Deviations  []verdict.Deviation
	// Unclear says why a test of the requirement showed nothing, for example because an ordinary
	// request got the same refusal; "" if there was no such test.
	Unclear string

	elsewhere bool // see MarkReportedElsewhere
}

// maxDeviations bounds the deviations that Judge keeps for a rule, requirement and summary, so that
// a server that errs in every message does not flood the report.
const maxDeviations = 3

// Reporter collects the results of a rule.
type Reporter struct {
	rule    *Rule
	session *Session
	// applying are the requirements that exist in the revision and transport.
	applying map[string]bool
	most     int // the maximum number of deviations that are kept for a requirement and summary
	// results has an entry for each requirement of the rule: nil until the rule reports something
	// about it, notApplicable if it does not exist in the revision.
	results []*Result
}

// notApplicable stands for the result of a requirement that does not exist in the revision.
var notApplicable = &Result{}

// Judges reports whether the requirement exists in the revision and transport
// of the conversation.
func (o *Reporter) Judges(requirement string) bool {
	return slices.Contains(o.rule.Requirements, requirement) && o.result(requirement) != nil
}

// MarkObserved records that the requirement was observed once: the server had an occasion to keep
// or break it. Report does this for the occasions on which the server broke it.
func (o *Reporter) MarkObserved(requirement string) {
	if r := o.result(requirement); r != nil {
		r.Observed++
	}
}

// MarkObservedTimes records that the requirement was observed n times.
func (o *Reporter) MarkObservedTimes(requirement string, n int) {
	if r := o.result(requirement); r != nil {
		r.Observed += n
	}
}

// Report records a deviation. It also counts as an observation of the requirement.
func (o *Reporter) Report(d verdict.Deviation) {
	r := o.result(d.Requirement)
	if r == nil {
		return
	}
	r.Observed++
	same := 0
	for _, have := range r.Deviations {
		if have.Summary == d.Summary {
			same++
		}
	}
	if same < o.most {
		r.Deviations = append(r.Deviations, d)
	}
}

// MarkReportedElsewhere records that the requirement was broken, but that a finding about another
// requirement reports the cause. The requirement then does not count as kept in this conversation.
func (o *Reporter) MarkReportedElsewhere(requirement string) {
	if r := o.result(requirement); r != nil {
		r.elsewhere = true
	}
}

// MarkUnclear records why a test of the requirement showed nothing.
func (o *Reporter) MarkUnclear(requirement, why string) {
	if r := o.result(requirement); r != nil && r.Unclear == "" {
		r.Unclear = why
	}
}

// result returns the result for a requirement; nil if the requirement does not exist in the
// revision and transport. It panics if the rule does not list the requirement.
func (o *Reporter) result(requirement string) *Result {
	i := slices.Index(o.rule.Requirements, requirement)
	if i < 0 {
		panic(fmt.Sprintf("rule %s reports on %s, which is not in its Requirements", o.rule.ID, requirement))
	}
	if o.results == nil {
		o.results = make([]*Result, len(o.rule.Requirements))
	}
	if o.results[i] == nil { // all of a conversation has one revision
		o.results[i] = notApplicable
		if o.applying[requirement] {
			o.results[i] = &Result{Rule: o.rule.ID, Requirement: requirement, Revision: o.session.Revision()}
		}
	}
	if o.results[i] == notApplicable {
		return nil
	}
	return o.results[i]
}

// Judge folds all rules over the events of one conversation. asked is the revision that the client
// requests; the negotiated revision overrides it for the whole conversation.
func Judge(all []Rule, events []*transcript.Event, asked spec.Revision, t spec.Transport) []Result {
	return JudgeAtMost(maxDeviations, all, events, asked, t)
}

// JudgeAtMost is like Judge, but keeps at most the given number of deviations for each rule,
// requirement and summary.
func JudgeAtMost(most int, all []Rule, events []*transcript.Event, asked spec.Revision, t spec.Transport) []Result {
	out, _ := judgeUntil(context.Background(), most, all, events, asked, t)
	return out
}

// JudgeUntil is like Judge, but if the context ends first, it returns no results and the context's
// cause as the error: rules that have not seen every event may be wrong.
func JudgeUntil(ctx context.Context, all []Rule, events []*transcript.Event, asked spec.Revision, t spec.Transport) ([]Result, error) {
	return judgeUntil(ctx, maxDeviations, all, events, asked, t)
}

func judgeUntil(ctx context.Context, most int, all []Rule, events []*transcript.Event, asked spec.Revision, t spec.Transport) ([]Result, error) {
	s, runs := foldRules(ctx, most, all, events, asked, t)
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
	return collectResults(runs), nil
}

// SoFar is like Judge but for an open conversation: it returns the deviations found so far,
// without those that are judged at the end.
func SoFar(all []Rule, events []*transcript.Event, asked spec.Revision, t spec.Transport) []Result {
	_, runs := foldRules(context.Background(), maxDeviations, all, events, asked, t)
	return collectResults(runs)
}

// ruleRun is one rule applied to one conversation.
type ruleRun struct {
	fold Fold
	out  *Reporter
}

// foldRules folds all rules over the events until the context ends. It returns the session and the
// runs of the rules. It does not call AtEnd.
func foldRules(ctx context.Context, most int, all []Rule, events []*transcript.Event, asked spec.Revision, t spec.Transport) (*Session, []ruleRun) {
	s := newSession(asked, t)
	s.output.readings = interpretLines(events, t)
	s.negotiated = negotiatedRevision(events, s)
	applying := spec.Requirements().Applying(s.Revision(), t)
	runs := make([]ruleRun, 0, len(all))
	listeners := newDispatcher(s)
	var watchers []ruleRun
	for i := range all {
		if !all[i].appliesTo(applying) {
			continue
		}
		r := ruleRun{all[i].Start(), &Reporter{rule: &all[i], session: s, applying: applying, most: most}}
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

// isClosed reports whether a channel is closed. Nothing may ever be sent on it.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func collectResults(runs []ruleRun) []Result {
	n := 0
	for _, r := range runs {
		n += len(r.out.results)
	}
	out := make([]Result, 0, n)
	for _, r := range runs {
		for _, res := range r.out.results {
			if res != nil && (len(res.Deviations) > 0 || (res.Observed > 0 || res.Unclear != "") && !res.elsewhere) {
				out = append(out, *res)
			}
		}
	}
	return out
}

// negotiatedRevision returns the revision that the conversation negotiates, or "". It reads the
// events with the requested revision, the transport and the readings of the given session.
func negotiatedRevision(events []*transcript.Event, like *Session) spec.Revision {
	scout := newSession(like.requested, like.Transport)
	scout.output.readings = like.output.readings
	for _, e := range events {
		if scout.ServerCapabilities != nil { // the result of initialize was read, and later ones change nothing
			break
		}
		scout.noteEvent(e)
	}
	return scout.negotiated
}

// onMessage returns a fold that calls the function see for each readable message of the server. The
// event is the last line of the message.
func onMessage(see func(s *Session, e *transcript.Event, m *wire.Message, out *Reporter)) Fold {
	return Fold{OnEvent: func(s *Session, e *transcript.Event, out *Reporter) {
		for _, m := range receivedMessages(s, e) {
			see(s, e, m, out)
		}
	}}
}

// receivedMessages returns the messages that event e completes.
func receivedMessages(s *Session, e *transcript.Event) []*wire.Message {
	if e.Kind != transcript.Received || e.IsCut() {
		return nil
	}
	got := s.output.reading(e)
	if got == nil {
		return nil
	}
	return got.messages
}

// WithoutState wraps a fold that keeps no state of its own.
func WithoutState(f Fold) func() Fold { return func() Fold { return f } }

// Excerpt returns the beginning of a message of the server, for Deviation.Seen.
func Excerpt[T ~string | ~[]byte](b T) string { return excerpt(b) }

// PositionsOf returns the positions of events for Deviation.At, in the order given, without nil
// events and without consecutive duplicates.
func PositionsOf(events ...*transcript.Event) []int { return positionsOf(events...) }
