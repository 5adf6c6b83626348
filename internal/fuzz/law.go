package fuzz

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Law is a property that holds whatever is sent.
type Law struct {
	ID, Title string
	// Requirements are the catalogue ids that the law rests on.
	Requirements []string
	// Opinion reports that the specification does not state the law: a breach is
	// a note, and the law applies only if it is selected by name.
	Opinion bool
	// Weighs reports that the law judges repeated requests, which are sent only
	// for such laws.
	Weighs bool
	// Judge returns the breaches in an outcome.
	Judge func(o *Outcome) []Breach
	// Observed reports whether an outcome without a breach shows that the
	// requirement is kept. If it is nil, each complete outcome does.
	Observed func(o *Outcome, requirement string) bool
}

// A Breach is a violation of a law in an outcome.
type Breach struct {
	verdict.Deviation
	// Conversation is the index of the conversation that At refers to.
	Conversation int
}

// rulesLaw is the id of the law that Passive returns.
const rulesLaw = "rules"

// Passive returns the law that all the passive rules are kept.
func Passive(all []rules.Rule) Law {
	l := Law{ID: rulesLaw, Title: "the passive rules hold on whatever was sent"}
	for i := range all {
		l.Requirements = append(l.Requirements, all[i].Requirements...)
	}
	slices.Sort(l.Requirements)
	l.Requirements = slices.Compact(l.Requirements)
	l.Judge = func(o *Outcome) []Breach {
		var out []Breach
		for i, t := range o.Conversations {
			for _, result := range rules.Judge(all, t.Events, o.Script.Revision, o.Transport) {
				for _, d := range result.Deviations {
					out = append(out, Breach{d, i})
				}
			}
		}
		return out
	}
	l.Observed = func(o *Outcome, requirement string) bool {
		for _, t := range o.Conversations {
			for _, result := range rules.Judge(all, t.Events, o.Script.Revision, o.Transport) {
				if result.Requirement == requirement && result.Observed > 0 {
					return true
				}
			}
		}
		return false
	}
	return l
}

// A Candidate is a breach of a law in an outcome, not yet retried.
type Candidate struct {
	Law string
	Breach
	// Method is the method of the request that the evidence shows, or "".
	Method  string
	Outcome verdict.Outcome
}

// A Key identifies a finding of a search: the mistake, and the method for which
// it is made.
type Key struct {
	verdict.Mistake
	Method string
}

// Key returns the key of the finding that the candidate becomes.
func (s *Candidate) Key() Key { return Key{s.Mistake(), s.Method} }

func (k Key) compare(other Key) int {
	return cmp.Or(k.Mistake.Compare(other.Mistake), strings.Compare(k.Method, other.Method))
}

// Judge applies the laws to an outcome. Equal candidates are returned once.
func Judge(laws []Law, o *Outcome) []Candidate {
	var out []Candidate
	seen := map[Key]bool{}
	for i := range laws {
		for _, b := range laws[i].Judge(o) {
			s := Candidate{Law: laws[i].ID, Breach: b, Method: o.method(b)}
			q := spec.Requirements().Lookup(b.Requirement)
			if !q.AppliesTo(o.Script.Revision, o.Transport) {
				continue
			}
			s.Outcome = b.Deviation.Outcome(q, o.Script.Revision)
			if laws[i].Opinion {
				s.Outcome = verdict.Note
			}
			if key := s.Key(); !seen[key] {
				seen[key] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// oneEnd merges the candidates about requests that one exit of a process left
// without a response. For each requirement it keeps the candidate whose evidence
// begins first, because the server could not answer later requests.
func oneEnd(o *Outcome, all []Candidate) []Candidate {
	type end struct {
		verdict.Mistake
		conversation, at int
	}
	first := map[end]int{} // indexes in out
	var out []Candidate
	for _, s := range all {
		at, ok := o.endOf(s.Breach)
		e := end{s.Mistake(), s.Conversation, at}
		have, known := first[e]
		switch {
		case ok && known:
			if s.At[0] < out[have].At[0] {
				out[have] = s
			}
			continue
		case ok:
			first[e] = len(out)
		}
		out = append(out, s)
	}
	return out
}

// endOf returns the position of the exit with which the evidence ends.
func (o *Outcome) endOf(b Breach) (at int, ok bool) {
	if len(b.At) == 0 || b.Conversation >= len(o.Conversations) {
		return 0, false
	}
	at = b.At[len(b.At)-1]
	events := o.Conversations[b.Conversation].Events
	if at < 0 || at >= len(events) {
		return 0, false
	}
	return at, events[at].IsServerEnd()
}

// method returns the method of the first request or notification that the
// evidence shows, or to which a response in the evidence belongs.
func (o *Outcome) method(b Breach) string {
	if b.Conversation >= len(o.Conversations) {
		return ""
	}
	t := o.Conversations[b.Conversation]
	for _, at := range b.At {
		if at >= len(t.Events) {
			continue
		}
		for i := range t.Events[at].Messages() {
			m := &t.Events[at].Frame.Messages[i]
			if m.Method != "" {
				return family(m.Method)
			}
			if op := o.Operation(t, m.ID); op != nil && m.Kind == wire.Response && op.Method != "" {
				return family(op.Method)
			}
		}
	}
	return ""
}

// family returns the method, or a common name for all unknown methods.
func family(method string) string {
	if strings.HasPrefix(method, "mcp-conform/") || strings.HasPrefix(method, "notifications/mcp-conform/") {
		return "an unknown method"
	}
	return method
}

// evidence returns the operations that the evidence of a breach shows.
func (o *Outcome) evidence(b Breach) []int {
	if b.Conversation >= len(o.Conversations) {
		return nil
	}
	return o.Conversations[b.Conversation].Operations(b.At)
}
