package streamablehttp

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const (
	sessionCharset    = "streamable-http.session-id-charset"
	sessionUnique     = "streamable-http.session-id-unique-secure"
	sessionRequired   = "streamable-http.session-required-400"
	sessionTerminated = "streamable-http.session-terminated-404"
	sessionUnknown    = "streamable-http.session-unknown-404"
	sessionDelete     = "streamable-http.session-delete"
	sessionless       = "streamable-http.initialize-without-session"
)

func sessionRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.session-ids",
			Title:        "session ids are visible ASCII, unique and long",
			Requirements: []string{sessionCharset, sessionUnique},
			Start:        judgeExchangesAtEnd(judgeSessionIDs),
		},
		{
			ID:           "rule.session-status",
			Title:        "requests without a session, or with an ended or unknown one, get the right status",
			Requirements: []string{sessionRequired, sessionTerminated, sessionUnknown, sessionDelete, sessionless},
			Start:        judgeExchangesAtEnd(judgeSessionStatus),
		},
	}
}

// sessions has the positions of events in the life of each session, by session id.
type sessions struct {
	assigned map[string]int // where the server assigned the session
	ending   map[string]int // where the client sent DELETE
	ended    map[string]int // where the server confirmed the end
	gone     map[string]int // where a request with the id first got 404, if no later POST was served
}

func newSessions(all []*exchange) *sessions {
	s := &sessions{assigned: map[string]int{}, ending: map[string]int{}, ended: map[string]int{}, gone: map[string]int{}}
	for _, x := range all {
		id := x.RequestHead().Get(sessionHeader)
		switch {
		case x.Method() == "POST" && x.hasInitialize() && x.Succeeded():
			if given := x.ResponseHead().Get(sessionHeader); given != "" {
				noteEarliest(s.assigned, given, x.Response)
			}
		case x.Method() == "DELETE" && id != "":
			noteEarliest(s.ending, id, x.Request)
			if x.Succeeded() && x.Status() != 202 { // 202: the session has not ended yet
				noteEarliest(s.ended, id, x.Response)
			}
		}
		if id != "" && x.Status() == 404 {
			noteEarliest(s.gone, id, x.Response)
		}
	}
	for _, x := range all { // a session was not gone if a later POST was served
		id := x.RequestHead().Get(sessionHeader)
		if x.Method() == "POST" && x.Succeeded() && isBefore(s.gone, id, x.Request.Seq) {
			delete(s.gone, id)
		}
	}
	return s
}

func noteEarliest(in map[string]int, id string, e *transcript.Event) {
	if at, ok := in[id]; e != nil && (!ok || e.Seq < at) {
		in[id] = e.Seq
	}
}

// isBefore reports whether the given map has a position for the session id, and that position is
// before at.
func isBefore(in map[string]int, id string, at int) bool {
	when, ok := in[id]
	return ok && when < at
}

// sessionOf returns the session that an exchange belongs to.
func (s *sessions) sessionOf(x *exchange) string {
	if x.hasInitialize() {
		if given := x.ResponseHead().Get(sessionHeader); given != "" {
			return given
		}
	}
	return x.RequestHead().Get(sessionHeader)
}

// headerFlaws returns what is wrong with the session header of a request.
func (s *sessions) headerFlaws(x *exchange) flaw {
	id, at := x.RequestHead().Get(sessionHeader), x.Request.Seq
	switch {
	case id == "":
		for _, when := range s.assigned {
			if when < at && !x.hasInitialize() {
				return noSession
			}
		}
		return 0
	case !isBefore(s.assigned, id, at):
		return unknownSession
	case isBefore(s.ended, id, at):
		return endedSession
	case isBefore(s.gone, id, at), s.endsSession(x), isBefore(s.ending, id, at) && x.Method() != "DELETE":
		return goneSession
	default:
		return 0
	}
}

// endsSession reports whether the response to x is the first to show that its session is over. The
// status of that response then says nothing about the request.
func (s *sessions) endsSession(x *exchange) bool {
	when, ok := s.gone[x.RequestHead().Get(sessionHeader)]
	return ok && x.Response != nil && x.Response.Seq == when && x.Method() != "DELETE"
}

// describeInvisible returns a clause about the first character that is not visible ASCII, or "" if
// there is none.
func describeInvisible(id string) string {
	for _, c := range id {
		switch {
		case c == ' ':
			return ", which has a space"
		case c < 0x21 || c > 0x7e:
			return fmt.Sprintf(", which has the character %q", c)
		}
	}
	return ""
}

func judgeSessionIDs(v *view, out *rules.Reporter) {
	first := map[string]*exchange{}
	var strong []string
	var last *exchange
	for _, x := range v.all {
		if !x.hasInitialize() || !x.Succeeded() || !x.ResponseHead().Has(sessionHeader) {
			continue
		}
		id := x.ResponseHead().Get(sessionHeader)
		d := verdict.Deviation{At: x.positions(), Seen: "the session id " + rules.Excerpt(strconv.Quote(id))}
		if invisible := describeInvisible(id); id == "" || invisible != "" {
			d.Requirement, d.Summary, d.Permitted = sessionCharset, "The server's session id has characters that are not visible ASCII.", "one or more characters of visible ASCII, from 0x21 to 0x7E"
			d.Seen += invisible
			if id == "" {
				d.Weight, d.Summary, d.Seen = verdict.AtMostWarning, "The server's session id is empty.", "a header without a value"
			}
			out.Report(d)
			continue
		}
		out.MarkObserved(sessionCharset)
		d.Requirement, d.Permitted = sessionUnique, "unique ids that cannot be guessed, such as random UUIDs"
		switch other := first[id]; {
		case other != nil && !x.RequestHead().Has(sessionHeader):
			d.At, d.Summary = positionsOf(other.Response, x.Request, x.Response), "The server gives two sessions the same id."
			out.Report(d)
		case idStrength(id) < minStrength:
			d.Summary = "The server's session id is short enough to be guessed."
			out.Report(d)
		default:
			out.MarkObserved(sessionUnique)
			if other == nil {
				strong, last = append(strong, id), x
			}
		}
		first[id] = x
	}
	if areSequential(strong) {
		n := len(strong)
		out.Report(verdict.Deviation{
			Requirement: sessionUnique,
			Summary:     "The server numbers its sessions, so their ids can be guessed.",
			Permitted:   "unique ids that cannot be guessed, such as random UUIDs",
			Seen:        "the session ids " + rules.Excerpt(strong[n-2]) + " and " + rules.Excerpt(strong[n-1]),
			At:          positionsOf(first[strong[n-2]].Response, last.Response),
		})
	}
}

// minStrength is the minimum idStrength of an id that does not count as guessable. Secure ids have
// about 128 bits; ids between the two values pass.
const minStrength = 64

// idStrength returns an upper bound on the random bits in the id, estimated from its length and its
// characters.
func idStrength(id string) float64 {
	each := 6.0
	switch {
	case strings.Trim(id, "0123456789-") == "":
		each = 3.3
	case strings.Trim(id, "0123456789abcdefABCDEF-") == "":
		each = 4
	}
	return each * float64(len(strings.ReplaceAll(id, "-", "")))
}

func judgeSessionStatus(v *view, out *rules.Reporter) {
	for _, x := range v.all {
		if x.flaws == endedSession && v.isUnanswered(x) && !x.hasInitialize() {
			out.Report(verdict.Deviation{
				Requirement: sessionTerminated,
				Summary:     "The server does not answer a request of an ended session.",
				Permitted:   "status 404",
				Seen:        x.describeSeen(), At: x.positions(),
			})
		}
		if x.Response == nil || isAmbiguousStatus(x.Status()) {
			continue
		}
		switch x.flaws {
		case noSession:
			v.judgeWithoutSession(x, out)
		case endedSession:
			v.judgeEndedSession(x, out)
		case unknownSession:
			v.judgeUnknownSession(x, out)
		case 0:
			if x.Method() == "DELETE" && x.session != "" {
				v.judgeDelete(x, out)
			}
			if x.isPlainInitialize() && !x.RequestHead().Has(sessionHeader) && !x.RequestHead().Has(versionHeader) {
				judgeBareInitialize(x, out)
			}
		}
	}
}

// judgeWithoutSession judges a request without a session id, if it was refused or is a GET that
// opened a stream. A POST that was served is not judged: the server requires no session id.
func (v *view) judgeWithoutSession(x *exchange, out *rules.Reporter) {
	switch {
	case x.Method() == "GET" && x.isStreamOpened():
		v.judgeGetWithoutSession(x, out)
	case !x.Refused() || x.Status() == 405 && x.Method() != "POST":
	case !v.isInterpretable(x, out, sessionRequired):
	case x.Status() == 400:
		out.MarkObserved(sessionRequired)
	default:
		out.Report(verdict.Deviation{
			Requirement: sessionRequired,
			Summary:     "The server refuses a missing session id, but not with 400.",
			Permitted:   "status 400, or a normal response",
			Seen:        x.describeSeen(), At: x.positions(),
		})
	}
}

// judgeGetWithoutSession reports a stream that a GET without a session id opened, if the server
// refused a POST without a session id. It ignores an HTTP+SSE stream, which announces its endpoint
// and needs no session id.
func (v *view) judgeGetWithoutSession(x *exchange, out *rules.Reporter) {
	refused := v.refusedPost(x)
	c := &channel{exchange: x}
	c.findEndpoint()
	if refused == nil || c.announced != nil || v.missingEndpoint(c) == nil {
		return
	}
	out.Report(verdict.Deviation{
		Requirement: sessionRequired,
		Summary:     "The server opens a stream for a GET without a session id.",
		Permitted:   "status 400, or the stream of HTTP+SSE, which announces its endpoint",
		Seen:        x.describeSeen(), At: append(positionsOf(refused.Request, refused.Response), x.positions()...),
	})
}

// refusedPost returns a POST before x that was refused for its missing session id, or nil.
func (v *view) refusedPost(x *exchange) *exchange {
	for _, y := range v.all {
		if y.Response != nil && y.Request.Seq < x.Request.Seq && y.flaws == noSession && y.isPost() && y.Status() == 400 && v.whyUnclear(y) == "" {
			return y
		}
	}
	return nil
}

func (v *view) judgeEndedSession(x *exchange, out *rules.Reporter) {
	switch {
	case x.hasInitialize(): // a new session may begin with an old header
	case x.Status() == 405 && x.Method() != "POST":
	case x.Method() == "DELETE" && x.Succeeded(): // DELETE is idempotent: the session has ended
	case !x.isAccepted() && !v.isInterpretable(x, out, sessionTerminated):
	case x.Status() == 404:
		out.MarkObserved(sessionTerminated)
	default:
		d := verdict.Deviation{
			Requirement: sessionTerminated,
			Summary:     "The server refuses an ended session, but not with 404.",
			Permitted:   "status 404",
			Seen:        x.describeSeen(), At: x.positions(),
		}
		if x.isAccepted() {
			d.Summary = "The server serves a request of an ended session."
		}
		out.Report(d)
	}
}

// judgeUnknownSession judges the response to a session id that the server did not assign. It skips
// servers that assign no ids: for them the header has no meaning.
func (v *view) judgeUnknownSession(x *exchange, out *rules.Reporter) {
	assigns := false
	for _, when := range v.sessions.assigned {
		assigns = assigns || when < x.Request.Seq
	}
	switch {
	case !assigns || x.Method() != "POST" || x.hasInitialize():
	case x.isAccepted():
		out.Report(verdict.Deviation{
			Requirement: sessionUnknown,
			Weight:      verdict.OnlyNote, // the specification does not mention such ids
			Summary:     "The server serves a request with an invented session id.",
			Permitted:   "status 404; 400 is tolerated",
			Seen:        x.describeSeen(), At: x.positions(),
		})
	case (x.Status() == 404 || x.Status() == 400) && v.isInterpretable(x, out, sessionUnknown):
		out.MarkObserved(sessionUnknown)
	}
}

// judgeDelete judges the response to DELETE. A server may end a session at any time, and then
// responds with 404.
func (v *view) judgeDelete(x *exchange, out *rules.Reporter) {
	if x.Succeeded() || x.Status() == 405 {
		out.MarkObserved(sessionDelete)
		return
	}
	if x.Status() == 404 && !v.isSessionServedAfter(x) {
		return
	}
	out.Report(verdict.Deviation{
		Requirement: sessionDelete,
		Summary:     "The server neither ends the session on DELETE nor answers 405.",
		Permitted:   "a success status, or 405",
		Seen:        x.describeSeen(), At: x.positions(),
	})
}

// hasErrorWithID reports whether the body has an error with the id of a request.
func (x *exchange) hasErrorWithID() bool {
	m := x.errorIn()
	return m != nil && belongsToExchange(x, m)
}

// judgeBareInitialize judges whether an initialize without session and version headers is accepted.
// An error with the id of that request is a JSON-RPC response, which other rules judge.
func judgeBareInitialize(x *exchange, out *rules.Reporter) {
	switch {
	case x.Succeeded():
		out.MarkObserved(sessionless)
	case x.Status() < 400 || x.Status() >= 500 || x.hasErrorWithID():
	case x.Status() == 404 || x.Status() == 405 || x.Status() == 406: // there is no such endpoint, or the status is about Accept
	default:
		out.Report(verdict.Deviation{
			Requirement: sessionless,
			Summary:     "The server refuses initialize without session and version headers.",
			Permitted:   "a response; both headers are required only later",
			Seen:        x.describeSeen(), At: x.positions(),
		})
	}
}
