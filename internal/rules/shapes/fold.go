package shapes

import (
	"slices"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// messageShape is the rule that validates.
func messageShape() rules.Rule {
	return rules.Rule{
		ID:           "rule.message-shape",
		Title:        "every message matches the revision's schema",
		Requirements: requirementsOf(table()),
		Start:        startShape,
	}
}

// requirementsOf returns the requirements that the rows name, each once.
func requirementsOf(rows []row) []string {
	var all []string
	for _, r := range rows {
		for _, id := range strings.Fields(r.on) {
			if !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
	}
	return all
}

// startShape counts by itself what came up, which costs less than to say so
// for every message.
func startShape() rules.Fold {
	var t *compiledTable // of the conversation's revision, which does not change
	var came []int       // by row
	q := requiredArguments{}
	judge := func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		if !isJudged(s, obs) {
			return
		}
		if t == nil {
			t = tables[s.Revision()]()
			came = make([]int, len(t.rows))
		}
		q.note(obs)
		topic := t.topics[topicOf(obs)]
		if topic == nil {
			noteOtherError(obs, out)
			return
		}
		met, violations := t.validator.Examine(obs.Message, requestMethod(obs))
		topic.count(&met, came)
		switch {
		case len(violations) == 0:
		case isFromLaterRevision(s, obs):
			if topic.general != nil {
				out.Elsewhere(topic.general.requirement)
			}
		default:
			topic.report(deduplicate(violations), q, obs, came, out)
		}
	}
	return rules.Fold{
		OnMessage: rules.Handlers{
			rules.ResultOf(""):      judge,
			rules.ErrorTo(""):       judge,
			rules.Notification(""):  judge,
			rules.ServerRequest(""): judge,
		},
		AtEnd: func(_ *rules.Session, out *rules.Reporter) {
			for i, n := range came {
				if n > 0 {
					out.CameUpTimes(t.rows[i].requirement, n)
				}
			}
		},
	}
}

// noteOtherError notes an error that is not the one which demands an elicitation:
// it is where a server could have used that for something else.
func noteOtherError(obs *rules.Observation, out *rules.Reporter) {
	if obs.Request != nil && obs.Message.IsError() {
		if _, ok := obs.Message.ErrorCode(); ok {
			out.CameUp(onlyForElicitation)
		}
	}
}

// isJudged reports whether a message is one of a session whose revision is known,
// and has the envelope that a shape needs; what else is wrong with it is the
// matter of the base rules.
func isJudged(s *rules.Session, obs *rules.Observation) bool {
	if !s.Began() || s.Era() != spec.Handshake {
		return false
	}
	m := obs.Message
	switch m.Kind {
	case wire.Response:
		return obs.Request.WellFormed && (!m.Has("result") || m.Result().Kind() == '{') && m.Has("result") != m.Has("error")
	default:
		// JSON-RPC has arrays for params, too; MCP has not.
		return !m.Has("params") || m.Params().Kind() == '{' || m.Params().Kind() == '['
	}
}

// topicOf returns the name that the table has for the message.
func topicOf(obs *rules.Observation) string {
	switch {
	case obs.Request == nil:
		return obs.Message.Method
	case obs.Message.IsError():
		if code, ok := obs.Message.ErrorCode(); ok && spec.Code(code) == spec.CodeURLElicitation {
			return anError
		}
		return ""
	default:
		return obs.Request.Message.Method
	}
}

func requestMethod(obs *rules.Observation) string {
	if obs.Request == nil {
		return ""
	}
	return obs.Request.Message.Method
}

// isFromLaterRevision reports whether a message is of a sort that came with a later revision,
// which is told as such.
func isFromLaterRevision(s *rules.Session, obs *rules.Observation) bool {
	tasks := s.Revision().AtLeast(spec.V20251125)
	if obs.Request == nil {
		return obs.Message.Method == spec.MethodElicit && !tasks && text(obs.Message.Params(), "/mode") == "url"
	}
	result := obs.Message.Result()
	return text(result, "/resultType") == "input_required" ||
		!tasks && wire.At(result, "/task/taskId") != nil && !has(result, "content")
}

// deduplicate keeps the first violation of each place, and of a JSON Schema those
// that the types see rather than what its dialect reports on the same.
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

// report assigns each violation to its requirement.
func (t *topic) report(violations []schema.Violation, q requiredArguments, obs *rules.Observation, came []int, out *rules.Reporter) {
	lacks := missingMembers(violations)
	for i, v := range violations {
		r := t.find(v)
		if v.Basis == schema.Schema && t.general != nil && r != t.general {
			out.Elsewhere(t.general.requirement)
		}
		if r == nil || r.elsewhere {
			continue
		}
		if q.explains(v, obs) {
			came[r.number]-- // what the client gave shows nothing of the server
			continue
		}
		if v.Kind == schema.Missing && lacks[parentPointer(v)] > 0 && isAboutMissing(violations[:i], parentPointer(v)) {
			out.Elsewhere(r.requirement)
			continue
		}
		out.Deviates(verdict.Deviation{
			Requirement: r.requirement,
			Summary:     r.summary,
			Permitted:   v.Permitted,
			Seen:        describeSeen(v),
			At:          positions(obs),
			Pointer:     v.Pointer,
			Weight:      r.weight,
		})
	}
}

// another is how many members an object must lack to be taken for another
// object, such as one around the right one: that is one mistake.
const another = 3

// missingMembers returns the objects that are taken for another, by their pointers.
func missingMembers(violations []schema.Violation) map[string]int {
	lacks := map[string]int{}
	for _, v := range violations {
		if v.Kind == schema.Missing {
			lacks[parentPointer(v)]++
		}
	}
	for at, n := range lacks {
		if n < another {
			delete(lacks, at)
		}
	}
	return lacks
}

// isAboutMissing reports whether one of the violations is about what the object at
// the pointer lacks.
func isAboutMissing(violations []schema.Violation, pointer string) bool {
	return slices.ContainsFunc(violations, func(v schema.Violation) bool { return v.Kind == schema.Missing && parentPointer(v) == pointer })
}

// parentPointer returns the pointer to the object of which the violation names a member.
func parentPointer(v schema.Violation) string {
	return v.Pointer[:max(0, strings.LastIndexByte(v.Pointer, '/'))]
}

// describeSeen says what stands where.
func describeSeen(v schema.Violation) string {
	if v.Pointer == "" {
		return v.Seen
	}
	return v.Seen + " at " + v.Pointer
}

// positions returns where the message stands, and what it answers.
func positions(obs *rules.Observation) []int {
	if obs.Request != nil {
		return rules.At(obs.Request.Event, obs.Event)
	}
	return rules.At(obs.Event)
}

// compiledTable is the table as one revision has it.
type compiledTable struct {
	validator *schema.Validator
	topics    map[string]*topic
	rows      []*compiledRow // all
}

// topic is the entry of the table for one kind of message.
type topic struct {
	rows    []*compiledRow
	general *compiledRow // the last resort for what the schema refuses; may be nil
}

type compiledRow struct {
	*row
	number      int    // among all rows
	requirement string // the one that exists in the revision
	places      []schema.Place
}

// tables holds the table of each revision, made when it is first asked for.
var tables = func() map[spec.Revision]func() *compiledTable {
	all := map[spec.Revision]func() *compiledTable{}
	for _, r := range spec.HandshakeRevisions() {
		all[r] = sync.OnceValue(func() *compiledTable { return compile(table(), r) })
	}
	return all
}()

func compile(rows []row, revision spec.Revision) *compiledTable {
	v := schema.For(revision)
	t := &compiledTable{validator: v, topics: map[string]*topic{}}
	for i := range rows {
		r := &compiledRow{row: &rows[i]}
		for _, id := range strings.Fields(r.on) {
			if spec.Requirements().Lookup(id).AppliesTo(revision, spec.Stdio) {
				r.requirement = id
			}
		}
		if r.requirement == "" && !r.elsewhere {
			continue
		}
		for _, name := range strings.Fields(r.subjects()) {
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

// count notes which requirements came up in a message.
func (t *topic) count(met *schema.Met, came []int) {
	if g := t.general; g != nil && (len(g.places) == 0 || g.cameUp(met)) {
		came[g.number]++
	}
	for _, r := range t.rows {
		if r.cameUp(met) {
			came[r.number]++
		}
	}
}

func (r *compiledRow) cameUp(met *schema.Met) bool {
	for _, p := range r.places {
		if met.Has(p) {
			return true
		}
	}
	return false
}

// find returns the row that a violation falls on, or nil.
func (t *topic) find(v schema.Violation) *compiledRow {
	for _, r := range t.rows {
		if r.fits(v) {
			return r
		}
	}
	if v.Basis == schema.Schema {
		return t.general
	}
	return nil
}
