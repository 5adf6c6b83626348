package shapes

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/headers"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// messageShape is the rule that validates messages against the schema.
func messageShape() rules.Rule {
	return rules.Rule{
		ID:           "rule.message-shape",
		Title:        "every message matches the revision's schema",
		Requirements: requirementsOf(table()),
		Start:        startShape,
	}
}

// requirementsOf returns the requirements of the rows, each once.
func requirementsOf(rows []row) []string {
	var all []string
	for _, r := range rows {
		for _, id := range strings.Fields(r.ids) {
			if !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
	}
	return all
}

// startShape returns a fold that counts observations itself and reports them at the end, which
// costs less than a report for every message.
func startShape() rules.Fold {
	var t *compiledTable // of the conversation's revision, which does not change
	var counts []int     // how often each requirement was observed, by the number of its row
	q := requiredArguments{}
	judge := func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		if !isJudged(s, obs) {
			return
		}
		if t == nil {
			t = tables[s.Revision()]()
			counts = make([]int, len(t.rows))
		}
		q.note(s, obs)
		x := t.examine(s, obs)
		if x.topic == nil {
			noteOtherError(obs, out)
			return
		}
		x.topic.countObserved(&x.places, counts)
		for _, input := range x.inputs {
			input.countObserved(&x.places, counts)
		}
		switch {
		case len(x.violations) == 0:
		case isFromLaterRevision(s, obs):
			if x.topic.general != nil {
				out.MarkReportedElsewhere(x.topic.general.requirement)
			}
		default:
			violations := deduplicate(slices.Clone(x.violations)) // equal results share them
			for key, input := range x.inputs {
				var own []schema.Violation
				own, violations = splitViolations(violations, rules.InputPointer(key))
				input.report(own, q, obs, counts, out)
			}
			x.topic.report(violations, q, obs, counts, out)
		}
	}
	return rules.Fold{
		OnMessage: rules.Handlers{
			rules.ResultOf(""):      judge,
			rules.InputRequired(""): judge,
			rules.ErrorTo(""):       judge,
			rules.Notification(""):  judge,
			rules.ServerRequest(""): judge,
		},
		AtEnd: func(_ *rules.Session, out *rules.Reporter) {
			for i, n := range counts {
				if n > 0 {
					out.MarkObservedTimes(t.rows[i].requirement, n)
				}
			}
		},
	}
}

// examination is what the table and the validator found in a message.
type examination struct {
	topic      *topic            // nil if the table has none
	inputs     map[string]*topic // of the entries of inputRequests, by key
	places     schema.PlaceSet
	violations []schema.Violation
}

// resultKey is the memo key of an examined result.
type resultKey struct{ method string }

// examine examines a message. The same result is examined only once for each method.
func (t *compiledTable) examine(s *rules.Session, obs *rules.Observation) *examination {
	examine := func() *examination {
		name := topicOf(s, obs)
		x := &examination{topic: t.topics[name]}
		if x.topic != nil {
			x.inputs = t.inputTopics(name, obs)
			x.places, x.violations = t.validator.Examine(obs.Message, requestMethod(obs))
		}
		return x
	}
	if obs.Request == nil || obs.Message.IsError() {
		return examine()
	}
	return rules.MemoResult(s, obs.Message, resultKey{requestMethod(obs)}, examine)
}

// noteOtherError records that the server did not misuse the code of errors that require an
// elicitation, because the error in obs has another code.
func noteOtherError(obs *rules.Observation, out *rules.Reporter) {
	if obs.Request != nil && obs.Message.IsError() {
		if _, ok := obs.Message.ErrorCode(); ok {
			out.MarkObserved(onlyForElicitation)
		}
	}
}

// isJudged reports whether the revision by which the conversation is judged applies to a message,
// and the message has a valid envelope. The base rules judge envelopes.
func isJudged(s *rules.Session, obs *rules.Observation) bool {
	if !isGovernedByRevision(s, obs) || obs.InputKey != nil { // an entry of inputRequests is judged with its result
		return false
	}
	m := obs.Message
	switch m.Kind {
	case wire.Response:
		return obs.Request.WellFormed && (!m.Has("result") || m.Result().Kind() == '{') && m.Has("result") != m.Has("error")
	default:
		// JSON-RPC permits arrays as params, MCP does not.
		return !m.Has("params") || m.Params().Kind() == '{' || m.Params().Kind() == '['
	}
}

// topicOf returns the name of the message's topic in the table. It returns "" for an error, unless
// its code is that of errors that require an elicitation.
func topicOf(s *rules.Session, obs *rules.Observation) string {
	switch {
	case obs.Request == nil:
		return obs.Message.Method
	case obs.Message.IsError():
		if code, ok := obs.Message.ErrorCode(); ok && spec.Code(code) == spec.CodeURLElicitation {
			return errorTopic
		}
		return ""
	case headers.RequiresNameHeader(obs.Request.Message.Method) && requiresInput(s, obs.Message):
		return inputTopic
	default:
		return obs.Request.Message.Method
	}
}

// requiresInput reports whether a result requires input: it says so in resultType, or has no
// resultType but looks like such a result. Another rule reports a missing resultType.
func requiresInput(s *rules.Session, m *wire.Message) bool {
	if kind := m.ResultAt("/resultType"); kind != nil || s.Era() != spec.Stateless {
		return stringAt(kind, "") == spec.ResultInputRequired
	}
	return m.ResultAt("/inputRequests").Kind() == '{' &&
		m.ResultAt("/content") == nil && m.ResultAt("/contents") == nil && m.ResultAt("/messages") == nil
}

// inputTopics returns the topics of the entries of inputRequests, by key, in a message of the named
// topic.
func (t *compiledTable) inputTopics(name string, obs *rules.Observation) map[string]*topic {
	if name != inputTopic {
		return nil
	}
	out := map[string]*topic{}
	_, inputs := wire.Members(obs.Message.ResultAt("/inputRequests"))
	for key, input := range inputs {
		if topic := t.topics[stringAt(input, "/method")]; topic != nil {
			out[key] = topic
		}
	}
	return out
}

// splitViolations returns the violations at or below a pointer, and the others.
func splitViolations(all []schema.Violation, pointer string) (below, others []schema.Violation) {
	for _, v := range all {
		if v.Pointer == pointer || strings.HasPrefix(v.Pointer, pointer+"/") {
			below = append(below, v)
		} else {
			others = append(others, v)
		}
	}
	return below, others
}

func requestMethod(obs *rules.Observation) string {
	if obs.Request == nil {
		return ""
	}
	return obs.Request.Message.Method
}

// isFromLaterRevision reports whether a message has a form that a later revision introduced, and
// that another rule reports: an elicitation by URL, a task, or a result that requires input.
func isFromLaterRevision(s *rules.Session, obs *rules.Observation) bool {
	tasks := s.Revision().AtLeast(spec.V20251125)
	if obs.Request == nil {
		return obs.Message.Method == spec.MethodElicit && !tasks && stringAt(obs.Message.Params(), "/mode") == "url"
	}
	result := obs.Message.Result()
	return s.Era() == spec.Handshake && stringAt(result, "/resultType") == spec.ResultInputRequired ||
		!tasks && obs.Message.ResultAt("/task/taskId") != nil && !hasMember(result, "content")
}

// deduplicate keeps the first violation at each place. Within a JSON Schema, it prefers violations
// of the protocol's schema to violations of the JSON Schema dialect.
func deduplicate(all []schema.Violation) []schema.Violation {
	out := all[:0]
	for i, v := range all {
		again := slices.ContainsFunc(all[:i], func(w schema.Violation) bool { return w.Pointer == v.Pointer }) ||
			v.Kind == schema.NotDialect && slices.ContainsFunc(all, func(w schema.Violation) bool {
				return w.Basis == schema.Schema && strings.HasPrefix(w.Pointer, v.Pointer+"/")
			})
		if !again {
			out = append(out, v)
		}
	}
	return out
}

// report reports the violations under their requirements, except those that another rule reports or
// the client caused. If an object counts as wrong (see wrongObjectMissing), it reports only the
// first of its missing members.
func (t *topic) report(violations []schema.Violation, q requiredArguments, obs *rules.Observation, counts []int, out *rules.Reporter) {
	missing := missingMembers(violations)
	for i, v := range violations {
		r := t.rowFor(v)
		if v.Basis == schema.Schema && t.general != nil && r != t.general {
			out.MarkReportedElsewhere(t.general.requirement)
		}
		if r == nil || r.elsewhere {
			continue
		}
		if q.isCausedByClient(v, obs) {
			counts[r.number]-- // the client's input caused it, so it says nothing about the server
			continue
		}
		if v.Kind == schema.Missing && missing[parentPointer(v)] > 0 && hasMissingMemberAt(violations[:i], parentPointer(v)) {
			out.MarkReportedElsewhere(r.requirement)
			continue
		}
		permitted, seen := v.Describe("")
		out.Report(verdict.Deviation{
			Requirement: r.requirement,
			Summary:     r.summarize(v),
			Permitted:   cmp.Or(r.permitted, permitted),
			Seen:        seen,
			Fix:         r.describeFix(v),
			At:          positionsOf(obs),
			Pointer:     v.Pointer,
			Weight:      r.weight,
		})
	}
}

// wrongObjectMissing is the minimum number of missing members of an object that counts as wrong,
// such as a wrapper around the right one. The missing members of a wrong object are reported as one
// mistake.
const wrongObjectMissing = 3

// missingMembers returns, by their pointers, the objects that count as wrong, with the number of
// their missing members.
func missingMembers(violations []schema.Violation) map[string]int {
	missing := map[string]int{}
	for _, v := range violations {
		if v.Kind == schema.Missing {
			missing[parentPointer(v)]++
		}
	}
	for at, n := range missing {
		if n < wrongObjectMissing {
			delete(missing, at)
		}
	}
	return missing
}

// hasMissingMemberAt reports whether one of the violations is a missing member of the object at the
// pointer.
func hasMissingMemberAt(violations []schema.Violation, pointer string) bool {
	return slices.ContainsFunc(violations, func(v schema.Violation) bool { return v.Kind == schema.Missing && parentPointer(v) == pointer })
}

// parentPointer returns the pointer to the object that contains the member of the violation.
func parentPointer(v schema.Violation) string {
	return v.Pointer[:max(0, strings.LastIndexByte(v.Pointer, '/'))]
}

// positionsOf returns the positions of the message and of the request it responds to.
func positionsOf(obs *rules.Observation) []int {
	if obs.Request != nil {
		return rules.PositionsOf(obs.Request.Event, obs.Event)
	}
	return rules.PositionsOf(obs.Event)
}

// compiledTable is the table for one revision.
type compiledTable struct {
	validator *schema.Validator
	topics    map[string]*topic
	rows      []*compiledRow // all rows
}

// topic is the entry of the table for one kind of message.
type topic struct {
	rows    []*compiledRow
	general *compiledRow // the fallback for violations of the schema; may be nil
}

type compiledRow struct {
	*row
	number      int    // index among all rows
	requirement string // the id that exists in the revision
	places      []schema.Place
}

// tables has the table of each revision, compiled on first use.
var tables = func() map[spec.Revision]func() *compiledTable {
	all := map[spec.Revision]func() *compiledTable{}
	for _, r := range spec.Revisions() {
		all[r] = sync.OnceValue(func() *compiledTable { return compileTable(table(), r) })
	}
	return all
}()

func compileTable(rows []row, revision spec.Revision) *compiledTable {
	v := schema.For(revision)
	t := &compiledTable{validator: v, topics: map[string]*topic{}}
	for i := range rows {
		r := &compiledRow{row: &rows[i]}
		for _, id := range strings.Fields(r.ids) {
			if spec.Requirements().Lookup(id).AppliesTo(revision, spec.Stdio) {
				r.requirement = id
			}
		}
		if r.requirement == "" && !r.elsewhere {
			continue
		}
		for _, name := range strings.Fields(r.observedPlaces()) {
			if p := v.Place(name); p != 0 && r.requirement != "" {
				r.places = append(r.places, p)
			}
		}
		r.number = len(t.rows)
		t.rows = append(t.rows, r)
		for _, name := range r.topics() {
			if t.topics[name] == nil {
				t.topics[name] = &topic{}
			}
			if r.place == "" {
				t.topics[name].general = r
			} else {
				t.topics[name].rows = append(t.topics[name].rows, r)
			}
		}
	}
	return t
}

// countObserved records which requirements were observed in a message.
func (t *topic) countObserved(occurring *schema.PlaceSet, counts []int) {
	if g := t.general; g != nil && (len(g.places) == 0 || g.isObservedIn(occurring)) {
		counts[g.number]++
	}
	for _, r := range t.rows {
		if r.isObservedIn(occurring) {
			counts[r.number]++
		}
	}
}

func (r *compiledRow) isObservedIn(occurring *schema.PlaceSet) bool {
	for _, p := range r.places {
		if occurring.Has(p) {
			return true
		}
	}
	return false
}

// rowFor returns the first row that matches a violation. If there is none, it returns the general
// row for a violation of the official schema, and nil for any other violation.
func (t *topic) rowFor(v schema.Violation) *compiledRow {
	for _, r := range t.rows {
		if r.matches(v) {
			return r
		}
	}
	if v.Basis == schema.Schema {
		return t.general
	}
	return nil
}
