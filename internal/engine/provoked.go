package engine

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// nothingSent is the reason of a verdict "not observed" if the run sent nothing that could have
// shown whether the requirement is kept.
const nothingSent = "mcp-conform sent nothing that could show it"

// nothingShown is the reason of a verdict "not observed" if a case ended without an observation of
// one of its requirements.
const nothingShown = "no message of the case could show it"

// explainOutcomes replaces the reason of a verdict "not observed" if a case provoked the
// requirement (see suite.Case.Provokes). The new reason says what the case sent and how the server
// responded.
func (r *reporting) explainOutcomes(v *verdict.Verdict) {
	if v.Outcome != verdict.NotObserved || v.Gap != verdict.NeverCameUp && v.Gap != verdict.NothingSaid {
		return
	}
	// A case that names the requirement explains more than one that provokes the whole area.
	for _, made := range []func(c *suite.Case) bool{
		func(c *suite.Case) bool {
			return slices.Contains(c.Requirements, v.Requirement) || slices.Contains(c.Provokes, v.Requirement)
		},
		func(c *suite.Case) bool { return c.JudgesOrProvokes(v.Requirement) },
	} {
		for _, result := range r.results {
			for _, c := range result.unit.cases {
				if result.unit.revision != v.Revision || !made(c) {
					continue
				}
				if sent := result.exchangedByCase[c.ID]; sent != "" {
					v.Reason = fmt.Sprintf("no response showed it, though the case %s sent %s", c.ID, sent)
					return
				}
			}
		}
	}
}

// maxNamedMethods limits how many of the methods that a case sent are listed.
const maxNamedMethods = 4

// handshakeOrFence are the methods that every case sends, so they do not describe a case.
var handshakeOrFence = []string{spec.MethodInitialize, spec.MethodPing, spec.MethodDiscover}

// exchangesOf lists what the case sent after the handshake, with the outcomes: "tools/call (result,
// error -32602), DELETE (status 405)". The string must be the same in equal runs, so it leaves out
// whatever depends on timing: requests that the case cancelled (except those cancelled because no
// response came), streams that the client closed before their response, and requests that only
// check that the server has read what was sent before. It names tasks/cancel without its outcomes,
// because a task may end before the server reads that.
func (r *unitResult) exchangesOf(c *suite.Case) string {
	o := outcomes{}
	for _, conv := range r.conversations {
		o.addDialogue(transcript.DialogueOf(eventsOfCase(conv.Record.From(0), r.unit.sharesConversation, c.ID)))
	}
	return o.String()
}

// exchanges returns what exchangesOf returns for each case, by the id of the case.
func (r *unitResult) exchanges() map[string]string {
	out := map[string]string{}
	for _, c := range r.unit.cases {
		out[c.ID] = r.exchangesOf(c)
	}
	return out
}

// outcomes holds the outcomes of requests, by method.
type outcomes map[string][]string

// add adds an outcome of a method, or only the method if outcome is "".
func (o outcomes) add(method, outcome string) {
	if outcome == "" {
		o[method] = slices.Clone(o[method])
	} else if !slices.Contains(o[method], outcome) {
		o[method] = append(o[method], outcome)
	}
}

func (o outcomes) addDialogue(d *transcript.Dialogue) {
	for _, x := range d.Exchanges().All() {
		early := x.Response == nil && x.HowEnded() == transcript.Dropped
		if method := x.Method(); method != "" && method != http.MethodPost && !early {
			o.add(method, statusOf(x))
		}
	}
	for _, r := range d.Requests() {
		if !slices.Contains(handshakeOrFence, r.Message.Method) && (len(r.Cancellations) == 0 || isOverdue(r)) {
			o.add(wire.Excerpt(r.Message.Method, 40), outcomeOf(r))
		}
	}
}

// isOverdue reports whether the client cancelled the request because no response came in time, and
// no response came later.
func isOverdue(r *transcript.Request) bool {
	for _, reason := range r.CancelReasons() {
		if reason == transcript.OverdueReason {
			return r.Response() == nil
		}
	}
	return false
}

// String lists the first methods in alphabetical order, with their outcomes.
func (o outcomes) String() string {
	methods := slices.Sorted(maps.Keys(o))
	var said []string
	for _, m := range methods[:min(len(methods), maxNamedMethods)] {
		text := m
		if len(o[m]) > 0 {
			text += " (" + strings.Join(slices.Sorted(slices.Values(o[m])), ", ") + ")"
		}
		said = append(said, text)
	}
	if len(methods) > len(said) {
		said = append(said, "and other requests")
	}
	return strings.Join(said, ", ")
}

func statusOf(x *transcript.Exchange) string {
	if x.Response == nil {
		return "no response"
	}
	return fmt.Sprintf("status %d", x.Status())
}

// outcomeOf describes the response to a request. It returns "" if the outcome depends on timing.
func outcomeOf(r *transcript.Request) string {
	m := r.Response()
	switch {
	case r.Message.Method == spec.MethodTasksCancel:
		return ""
	case m == nil:
		return "no response"
	case m.IsError():
		code, _ := m.ErrorCode()
		return fmt.Sprintf("error %d", code)
	default:
		return "result"
	}
}
