package streamablehttp

import (
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
			Start:        look(sessionIDs),
		},
		{
			ID:           "rule.session-status",
			Title:        "requests without a session, or with an ended or unknown one, get the right status",
			Requirements: []string{sessionRequired, sessionTerminated, sessionUnknown, sessionDelete, sessionless},
			Start:        look(sessionStatus),
		},
	}
}

// sessions are those that the server assigned, and what became of them.
type sessions struct {
	assigned map[string]int // session ids, and where the server assigned them
	ending   map[string]int // where the client asked for their end
	ended    map[string]int // where the server granted it
	gone     map[string]int // where a request with them first got 404
}

func newSessions(all []*exchange) *sessions {
	s := &sessions{assigned: map[string]int{}, ending: map[string]int{}, ended: map[string]int{}, gone: map[string]int{}}
	for _, x := range all {
		id := x.RequestHead().Get(sessionHeader)
		switch {
		case x.Method() == "POST" && x.initializes() && x.Succeeded():
			if given := x.ResponseHead().Get(sessionHeader); given != "" {
				earliest(s.assigned, given, x.Response)
			}
		case x.Method() == "DELETE" && id != "":
			earliest(s.ending, id, x.Request)
			if x.Succeeded() && x.Status() != 202 { // 202: it is still to be ended
				earliest(s.ended, id, x.Response)
			}
		}
		if id != "" && x.Status() == 404 {
			earliest(s.gone, id, x.Response)
		}
	}
	for _, x := range all { // it was not gone if it served later
		id := x.RequestHead().Get(sessionHeader)
		if x.Method() == "POST" && x.Succeeded() && before(s.gone, id, x.Request.Seq) {
			delete(s.gone, id)
		}
	}
	return s
}

func earliest(in map[string]int, id string, e *transcript.Event) {
	if at, ok := in[id]; e != nil && (!ok || e.Seq < at) {
		in[id] = e.Seq
	}
}

// before reports whether something befell the session before a position.
func before(in map[string]int, id string, at int) bool {
	when, ok := in[id]
	return ok && when < at
}

// of returns the session that an exchange belongs to.
func (s *sessions) of(x *exchange) string {
	if x.initializes() {
		if given := x.ResponseHead().Get(sessionHeader); given != "" {
			return given
		}
	}
	return x.RequestHead().Get(sessionHeader)
}

// flaws says what is wrong with the session header of a request.
func (s *sessions) flaws(x *exchange) flaw {
	id, at := x.RequestHead().Get(sessionHeader), x.Request.Seq
	switch {
	case id == "":
		for _, when := range s.assigned {
			if when < at && !x.initializes() {
				return noSession
			}
		}
		return 0
	case !before(s.assigned, id, at):
		return unknownSession
	case before(s.ended, id, at):
		return endedSession
	case before(s.gone, id, at), s.endsWith(x), before(s.ending, id, at) && x.Method() != "DELETE":
		return goneSession
	default:
		return 0
	}
}

// endsWith reports whether the exchange is the first that shows its session over:
// of the request it says nothing then.
func (s *sessions) endsWith(x *exchange) bool {
	when, ok := s.gone[x.RequestHead().Get(sessionHeader)]
	return ok && x.Response != nil && x.Response.Seq == when && x.Method() != "DELETE"
}

func sessionIDs(v *view, out *rules.Reporter) {
	first := map[string]*exchange{}
	var strong []string
	var last *exchange
	for _, x := range v.all {
		if !x.initializes() || !x.Succeeded() || !x.ResponseHead().Has(sessionHeader) {
			continue
		}
		id := x.ResponseHead().Get(sessionHeader)
		d := verdict.Deviation{At: x.at(), Seen: "the session id " + rules.Excerpt(id)}
		if id == "" || strings.ContainsFunc(id, func(c rune) bool { return c < 0x21 || c > 0x7e }) {
			d.Requirement, d.Summary, d.Permitted = sessionCharset, "The server's session id has characters that are not visible ASCII.", "characters from 0x21 to 0x7E"
			if id == "" {
				d.Weight, d.Summary, d.Seen = verdict.AtMostWarning, "The server's session id is empty.", "a header without a value"
			}
			out.Deviates(d)
			continue
		}
		out.CameUp(sessionCharset)
		d.Requirement, d.Permitted = sessionUnique, "unique ids that cannot be guessed, such as random UUIDs"
		switch other := first[id]; {
		case other != nil && !x.RequestHead().Has(sessionHeader):
			d.At, d.Summary = shown(other.Response, x.Request, x.Response), "The server gives two sessions the same id."
			out.Deviates(d)
		case strength(id) < leastStrength:
			d.Summary = "The server's session id is short enough to be guessed."
			out.Deviates(d)
		default:
			out.CameUp(sessionUnique)
			if other == nil {
				strong, last = append(strong, id), x
			}
		}
		first[id] = x
	}
	if countUp(strong) {
		n := len(strong)
		out.Deviates(verdict.Deviation{
			Requirement: sessionUnique,
			Summary:     "The server numbers its sessions, so their ids can be guessed.",
			Permitted:   "unique ids that cannot be guessed, such as random UUIDs",
			Seen:        "the session ids " + rules.Excerpt(strong[n-2]) + " and " + rules.Excerpt(strong[n-1]),
			At:          shown(first[strong[n-2]].Response, last.Response),
		})
	}
}

// leastStrength is how many bits an id must be able to hold not to be taken for
// guessable. Ids that are safe have some 128; what lies between may pass.
const leastStrength = 64

// strength returns how many bits the id can hold at most, by its length and
// the characters in it.
func strength(id string) float64 {
	each := 6.0
	switch {
	case strings.Trim(id, "0123456789-") == "":
		each = 3.3
	case strings.Trim(id, "0123456789abcdefABCDEF-") == "":
		each = 4
	}
	return each * float64(len(strings.ReplaceAll(id, "-", "")))
}

func sessionStatus(v *view, out *rules.Reporter) {
	for _, x := range v.all {
		if x.flaws == endedSession && v.isUnanswered(x) && !x.initializes() {
			out.Deviates(verdict.Deviation{
				Requirement: sessionTerminated,
				Summary:     "The server does not answer a request of an ended session.",
				Permitted:   "404",
				Seen:        x.seen(), At: x.at(),
			})
		}
		if x.Response == nil || barred(x.Status()) || x.Status() == 403 {
			continue
		}
		switch x.flaws {
		case noSession:
			v.withoutSession(x, out)
		case endedSession:
			v.withEndedSession(x, out)
		case unknownSession:
			v.withUnknownSession(x, out)
		case 0:
			if x.Method() == "DELETE" && x.session != "" {
				v.ended(x, out)
			}
			if x.initializesFully() && !x.RequestHead().Has(sessionHeader) && !x.RequestHead().Has(versionHeader) {
				initialized(x, out)
			}
		}
	}
}

// withoutSession judges a refusal; a server that serves needs no session id.
func (v *view) withoutSession(x *exchange, out *rules.Reporter) {
	switch {
	case x.Method() == "GET" && x.opened():
		v.listensWithoutSession(x, out)
	case !x.Refused() || x.Status() == 405 && x.Method() != "POST":
	case !v.tellingly(x, out, sessionRequired):
	case x.Status() == 400:
		out.CameUp(sessionRequired)
	default:
		out.Deviates(verdict.Deviation{
			Requirement: sessionRequired,
			Summary:     "The server refuses a missing session id, but not with 400.",
			Permitted:   "status 400, or a normal response",
			Seen:        x.seen(), At: x.at(),
		})
	}
}

// listensWithoutSession reports a stream that a GET without a session id opened,
// if the server refused a POST without one. It ignores an HTTP+SSE stream, which
// announces its endpoint and needs no session id.
func (v *view) listensWithoutSession(x *exchange, out *rules.Reporter) {
	refused := v.refusesPost(x)
	c := &channel{exchange: x}
	c.find()
	if refused == nil || c.announced != nil || v.withoutEndpoint(c) == nil {
		return
	}
	out.Deviates(verdict.Deviation{
		Requirement: sessionRequired,
		Summary:     "The server opens a stream for a GET without a session id.",
		Permitted:   "400, or the stream of HTTP+SSE, which announces its endpoint",
		Seen:        x.seen(), At: append(shown(refused.Request, refused.Response), x.at()...),
	})
}

// refusesPost returns a POST before x that was refused because it had no session
// id, or nil.
func (v *view) refusesPost(x *exchange) *exchange {
	for _, y := range v.all {
		if y.Response != nil && y.Request.Seq < x.Request.Seq && y.flaws == noSession && y.isPost() && y.Status() == 400 && v.unclear(y) == "" {
			return y
		}
	}
	return nil
}

func (v *view) withEndedSession(x *exchange, out *rules.Reporter) {
	switch {
	case x.initializes(): // a new session may begin with an old header
	case x.Status() == 405 && x.Method() != "POST":
	case x.Method() == "DELETE" && x.Succeeded(): // DELETE is idempotent: what it asks for is so
	case !x.taken() && !v.tellingly(x, out, sessionTerminated):
	case x.Status() == 404:
		out.CameUp(sessionTerminated)
	default:
		d := verdict.Deviation{
			Requirement: sessionTerminated,
			Summary:     "The server refuses an ended session, but not with 404.",
			Permitted:   "404",
			Seen:        x.seen(), At: x.at(),
		}
		if x.taken() {
			d.Summary = "The server serves a request of an ended session."
		}
		out.Deviates(d)
	}
}

// withUnknownSession judges where the server assigns ids: to others the header
// means nothing.
func (v *view) withUnknownSession(x *exchange, out *rules.Reporter) {
	assigns := false
	for _, when := range v.sessions.assigned {
		assigns = assigns || when < x.Request.Seq
	}
	switch {
	case !assigns || x.Method() != "POST" || x.initializes():
	case x.taken():
		out.Deviates(verdict.Deviation{
			Requirement: sessionUnknown,
			Weight:      verdict.OnlyNote, // of such ids the specification says nothing
			Summary:     "The server serves a request with an invented session id.",
			Permitted:   "status 404; 400 is tolerated",
			Seen:        x.seen(), At: x.at(),
		})
	case (x.Status() == 404 || x.Status() == 400) && v.tellingly(x, out, sessionUnknown):
		out.CameUp(sessionUnknown)
	}
}

// ended judges the answer to DELETE. A session that is over already, as the
// server may end it at any time, gets 404.
func (v *view) ended(x *exchange, out *rules.Reporter) {
	if x.Succeeded() || x.Status() == 405 {
		out.CameUp(sessionDelete)
		return
	}
	if x.Status() == 404 && !v.servedAfter(x) {
		return
	}
	out.Deviates(verdict.Deviation{
		Requirement: sessionDelete,
		Summary:     "The server's DELETE neither ends the session nor gets 405.",
		Permitted:   "a status of success, or 405",
		Seen:        x.seen(), At: x.at(),
	})
}

// answersFirst reports whether the error in the body has the id of the request.
func (x *exchange) answersFirst() bool {
	m := x.errorIn()
	return m != nil && answersHere(x, m)
}

// initialized judges whether an initialize without further headers is taken.
// An error with its id is the answer of the protocol, and judged as such.
func initialized(x *exchange, out *rules.Reporter) {
	switch {
	case x.Succeeded():
		out.CameUp(sessionless)
	case x.Status() < 400 || x.Status() >= 500 || x.answersFirst():
	case x.Status() == 404 || x.Status() == 405 || x.Status() == 406: // no such endpoint, or a matter of what is accepted
	default:
		out.Deviates(verdict.Deviation{
			Requirement: sessionless,
			Summary:     "The server refuses initialize without session and version headers.",
			Permitted:   "a response; both headers are required only later",
			Seen:        x.seen(), At: x.at(),
		})
	}
}
