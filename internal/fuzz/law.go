package fuzz

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Law is a property that must hold whatever the client sends.
type Law struct {
	ID, Title string
	// Requirements are the ids of the requirements that the law judges.
	Requirements []string
	// Unspecified is set if the specification does not state the law. A breach is then a note, and
	// the law applies only if the user selects it by name.
	Unspecified bool
	// RepeatsRequests is set if the law judges repeated requests. A search repeats requests only
	// for such laws.
	RepeatsRequests bool
	// Judge returns the breaches in an execution.
	Judge func(x *Execution) []Breach
	// Observed reports whether an execution without a breach shows that the requirement is kept. If
	// Observed is nil, each complete execution shows that.
	Observed func(x *Execution, requirement string) bool
}

// A Breach is a violation of a law in an execution.
type Breach struct {
	verdict.Deviation
	// Conversation is the index of the conversation to which the positions in At belong.
	Conversation int
}

// rulesLaw is the id of the law that RulesLaw returns.
const rulesLaw = "rules"

// maxDeviations limits how many deviations with one mistake are kept in a conversation of a search.
// The limit is high, because a mistake is a separate finding for each method (see
// verdict.SearchKey), and responses to requests that were sent together come in any order. With a
// low limit, the deviations for a method could be among those kept in one execution and not in
// another.
const maxDeviations = 500

// RulesLaw returns the law that the server keeps all the passive rules.
func RulesLaw(all []rules.Rule) Law {
	l := Law{ID: rulesLaw, Title: "the passive rules hold on whatever was sent"}
	for i := range all {
		l.Requirements = append(l.Requirements, all[i].Requirements...)
	}
	slices.Sort(l.Requirements)
	l.Requirements = slices.Compact(l.Requirements)
	l.Judge = func(x *Execution) []Breach {
		var out []Breach
		for i, t := range x.Conversations {
			for _, result := range rules.JudgeAtMost(maxDeviations, all, t.Events, x.Script.Revision, x.Transport) {
				for _, d := range result.Deviations {
					out = append(out, Breach{d, i})
				}
			}
		}
		return out
	}
	l.Observed = func(x *Execution, requirement string) bool {
		for _, t := range x.Conversations {
			for _, result := range rules.Judge(all, t.Events, x.Script.Revision, x.Transport) {
				if result.Requirement == requirement && result.Observed > 0 {
					return true
				}
			}
		}
		return false
	}
	return l
}

// A Candidate is a breach that may become a finding: it is not yet shrunk and
// retried.
type Candidate struct {
	Law string
	Breach
	// Method is the method of the request that the evidence shows, or "".
	Method  string
	Outcome verdict.Outcome
}

// Key returns the key of the finding that the candidate becomes.
func (c *Candidate) Key() verdict.SearchKey {
	return verdict.SearchKey{Mistake: c.Mistake(), Method: c.Method}
}

// expectedKey returns the key of the finding that a replay file expects.
func expectedKey(e script.Expected) verdict.SearchKey {
	return verdict.SearchKey{Mistake: verdict.Mistake{Requirement: e.Requirement, Summary: e.Summary}, Method: e.Method}
}

// Judge applies the laws to an execution. Of candidates with equal keys, it returns only the first.
func Judge(laws []Law, x *Execution) []Candidate {
	var out []Candidate
	seen := map[verdict.SearchKey]bool{}
	for i := range laws {
		for _, b := range laws[i].Judge(x) {
			c := Candidate{Law: laws[i].ID, Breach: b, Method: x.methodOf(b)}
			requirement := spec.Requirements().Lookup(b.Requirement)
			if !requirement.AppliesTo(x.Script.Revision, x.Transport) {
				continue
			}
			c.Outcome = b.Deviation.Outcome(requirement, x.Script.Revision)
			if laws[i].Unspecified {
				c.Outcome = verdict.Note
			}
			if key := c.Key(); !seen[key] {
				seen[key] = true
				out = append(out, c)
			}
		}
	}
	return out
}

// mergeByExit merges the candidates about requests that got no response because the process exited.
// For each mistake and exit it keeps the candidate whose evidence begins first, because the server
// could not respond to later requests.
func mergeByExit(x *Execution, all []Candidate) []Candidate {
	type exit struct {
		verdict.Mistake
		conversation, at int
	}
	first := map[exit]int{} // the index, in the slice out, of the kept candidate
	var out []Candidate
	for _, c := range all {
		at, ok := x.exitIn(c.Breach)
		key := exit{c.Mistake(), c.Conversation, at}
		i, known := first[key]
		switch {
		case ok && known:
			if c.At[0] < out[i].At[0] {
				out[i] = c
			}
			continue
		case ok:
			first[key] = len(out)
		}
		out = append(out, c)
	}
	return out
}

// exitIn returns the position of the server's exit, and whether the evidence of the breach ends
// with one.
func (x *Execution) exitIn(b Breach) (at int, ok bool) {
	if len(b.At) == 0 || b.Conversation >= len(x.Conversations) {
		return 0, false
	}
	at = b.At[len(b.At)-1]
	events := x.Conversations[b.Conversation].Events
	if at < 0 || at >= len(events) {
		return 0, false
	}
	return at, events[at].IsServerEnd()
}

// isShownByBytes reports whether the evidence shows only operations that send raw bytes, apart from
// waits until the server has read them.
func (x *Execution) isShownByBytes(b Breach) bool {
	var raw, other bool
	for _, i := range x.evidenceOperations(b) {
		switch x.Script.Operations[i].Do {
		case script.Raw:
			raw = true
		case script.Fence:
		default:
			other = true
		}
	}
	return raw && !other
}

// methodOf returns the method of the first request or notification in the evidence, or of the
// request to which the first response in the evidence belongs. It returns "" if only raw bytes show
// the breach, because what is wrong with them does not depend on the method.
func (x *Execution) methodOf(b Breach) string {
	if b.Conversation >= len(x.Conversations) {
		return ""
	}
	if x.isShownByBytes(b) {
		return ""
	}
	t := x.Conversations[b.Conversation]
	for _, at := range b.At {
		if at >= len(t.Events) {
			continue
		}
		for i := range t.Events[at].Messages() {
			m := &t.Events[at].Frame.Messages[i]
			if m.Method != "" {
				return methodGroup(m.Method)
			}
			if op := x.OperationOf(t, m); op != nil && m.Kind == wire.Response && op.Method != "" {
				return methodGroup(op.Method)
			}
			// A response that belongs to no operation counts, too: one of the handshake, or to a
			// request that only checks that the server has read everything. In one play of a script
			// such a response may be the first that shows a mistake, in another play it may not.
			if r := t.Request(m); r != nil && m.Kind == wire.Response {
				return methodGroup(r.Message.Method)
			}
		}
	}
	return ""
}

// methodGroup returns the method, or a common name for all unknown methods.
func methodGroup(method string) string {
	if strings.HasPrefix(method, "mcp-conform/") || strings.HasPrefix(method, "notifications/mcp-conform/") {
		return "an unknown method"
	}
	return method
}

// evidenceOperations returns the indexes of the operations that the evidence of a breach shows.
func (x *Execution) evidenceOperations(b Breach) []int {
	if b.Conversation >= len(x.Conversations) {
		return nil
	}
	return x.Conversations[b.Conversation].Operations(b.At)
}

// lawsByID returns the laws with the id.
func lawsByID(laws []Law, id string) []Law {
	var out []Law
	for i := range laws {
		if laws[i].ID == id {
			out = append(out, laws[i])
		}
	}
	return out
}

// isUnspecified reports whether the law with the id is one that the specification does not state.
func isUnspecified(laws []Law, id string) bool {
	return slices.ContainsFunc(lawsByID(laws, id), func(l Law) bool { return l.Unspecified })
}
