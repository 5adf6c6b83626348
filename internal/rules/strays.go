package rules

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A stray is a response whose id matches no request.
type stray struct {
	event   *transcript.Event
	message *wire.Message

	class        strayClass
	request      *Request            // the request it was meant for, if any
	notification *transcript.Message // for toNotification: the notification it answers
}

// strayClass is the kind of a stray, which determines the one requirement that it breaks.
type strayClass int

const (
	unsolicited    strayClass = iota // it belongs to nothing that the client sent
	excused                          // it may belong to a message that could not be read
	respelled                        // the same id, written in another way
	echoed                           // the response to a request, with a changed id
	rounded                          // like echoed, but the id was beyond 2^53-1
	idless                           // an error without an id, although the request could be read
	toNotification                   // it answers a notification
	toResponse                       // it answers a response that matched no request
)

// maxStrays bounds the work for a server that sends nothing but strays. Those beyond it count as
// unsolicited.
const maxStrays = 1000

// attributedStrays returns the responses whose id matches no request, with their class. It can be
// called only at the end: a stray that came while a request was pending was not meant for it if
// that request got its response later.
func (s *Session) attributedStrays() []*stray {
	if !s.straysAttributed {
		s.straysAttributed = true
		for i, r := range s.strays {
			if i == maxStrays {
				break
			}
			s.attribute(r)
			if r.request != nil {
				r.request.misidentified = r
			}
		}
		s.attributeExtras()
	}
	return s.strays
}

func (s *Session) attribute(r *stray) {
	if !r.message.ID.Present() || r.message.ID.IsNull() {
		s.attributeIDless(r)
		return
	}
	isError := r.message.IsError()
	if req, class := s.similarRequest(r); req != nil {
		r.request, r.class = req, class
		return
	}
	if s.answersPointless(r.event, r.message) {
		r.class = toResponse
		return
	}
	if s.garbledMentions(r.message.ID) || s.isMisread(r) || isError && s.isRefusable(r.event) {
		r.class = excused
		return
	}
	if all := s.unanswered(r.event); len(all) == 1 && s.comesAlone(r, all[0]) {
		r.request, r.class = all[0], echoed
		return
	}
	switch n := s.lastNotification(r.event); {
	case n != nil && isZero(r.message.ID):
		r.notification, r.class = n, toNotification
	case s.isTooEarly(r.event):
		r.class = excused
	}
}

// comesAlone reports whether no stray with another id came between the request and the next one.
// With several it is unclear which was meant for the request.
func (s *Session) comesAlone(r *stray, req *Request) bool {
	end := math.MaxInt
	for _, next := range s.requests {
		if next.Event.Seq > req.Event.Seq {
			end = next.Event.Seq
			break
		}
	}
	return !slices.ContainsFunc(s.strays[:min(len(s.strays), maxStrays)], func(other *stray) bool {
		return !other.message.ID.Same(r.message.ID) && req.Event.Seq < other.event.Seq && other.event.Seq < end
	})
}

// attributeIDless attributes responses with no id or a null id.
func (s *Session) attributeIDless(r *stray) {
	isError := r.message.IsError()
	switch {
	case isError && (s.isRefusable(r.event) || s.missesBatch(r.event)):
		r.class = excused
		return
	case !r.message.Has("result") && !isError:
		r.class = excused // another rule judges that it is not a response at all
	}
	if all := s.unanswered(r.event); len(all) > 0 {
		r.request = all[0]
		switch {
		case r.class == excused:
		case isError:
			r.class = idless
		default:
			r.class = echoed
		}
		return
	}
	switch n := s.lastNotification(r.event); {
	case r.class == excused:
	case n != nil:
		r.notification, r.class = n, toNotification
	case s.isTooEarly(r.event):
		r.class = excused
	}
}

// isTooEarly reports whether a request without a response was sent before e while initialize had
// not succeeded, so that no response was due: e may be the response to it.
func (s *Session) isTooEarly(e *transcript.Event) bool {
	if s.Initialize == nil || s.Initialize.Succeeded() {
		return false
	}
	return slices.ContainsFunc(s.requests, func(req *Request) bool {
		return req != s.Initialize && req.Event.Seq < e.Seq && len(req.Responses) == 0 && req.misidentified == nil
	})
}

// attributeExtras looks for second responses to a request that were meant for another one: a
// server may change an id into that of another request.
func (s *Session) attributeExtras() {
	for _, req := range s.requests {
		for i := min(len(req.Responses), maxStrays) - 1; i > 0; i-- {
			r := &stray{event: req.Responses[i].Event, message: req.Responses[i].Message, class: echoed}
			if s.answersPointless(r.event, r.message) {
				r.class = toResponse
			} else if r.request = s.intendedRequest(r.event, r.message); r.request != nil {
				r.request.misidentified = r
			} else {
				continue
			}
			s.strays = append(s.strays, r)
			req.Responses = slices.Delete(req.Responses, i, i+1)
		}
	}
}

// isMisread reports whether the client sent a request whose bytes can't be read with certainty,
// so that the server may have read the id of the response from it.
func (s *Session) isMisread(r *stray) bool {
	return slices.ContainsFunc(s.requests, func(req *Request) bool {
		return !req.isStrictJSON && req.Event.Seq < r.event.Seq && len(req.Responses) == 0 && compareIDs(req.Message.ID, r.message.ID) != unsolicited
	})
}

// answersPointless reports whether an error has the id of an earlier response of the client that
// matched no request.
func (s *Session) answersPointless(e *transcript.Event, m *wire.Message) bool {
	sent := s.pointlessReplies[m.ID.Key()]
	return sent != nil && sent.Seq < e.Seq && m.IsError()
}

// intendedRequest returns the unanswered request for which a second response to another request
// was meant: one whose illegal id is similar, or else the only overdue one; otherwise nil.
func (s *Session) intendedRequest(e *transcript.Event, m *wire.Message) *Request {
	var missing []*Request
	for _, b := range s.unanswered(e) {
		switch {
		case !b.HasLegalID() && compareIDs(b.Message.ID, m.ID) != unsolicited:
			return b
		case b.overdue != nil:
			missing = append(missing, b)
		}
	}
	if len(missing) == 1 {
		return missing[0]
	}
	return nil
}

// isRefusable reports whether the client sent, before e, something that a server may refuse
// without knowing its id.
func (s *Session) isRefusable(e *transcript.Event) bool {
	return len(s.illegal) > 0 && s.illegal[0] < e.Seq
}

// missesBatch reports whether some request of a batch that the client sent before e has no
// response. A legal batch may be refused as a whole: the cases that send batches judge whether
// they are served.
func (s *Session) missesBatch(e *transcript.Event) bool {
	return slices.ContainsFunc(s.requests, func(req *Request) bool {
		return req.batched && req.Event.Seq < e.Seq && len(req.Responses) == 0
	})
}

// unanswered returns the requests sent before e that have no response and should have one. It
// includes requests with an illegal id: a server may ignore them, but must not send a wrong
// response.
func (s *Session) unanswered(e *transcript.Event) []*Request {
	var out []*Request
	for _, req := range s.requests {
		if req.Event.Seq < e.Seq && len(req.Responses) == 0 && req.misidentified == nil && req.isStrictJSON && !req.Cancelled && !req.batched && (req.due || !req.HasLegalID()) {
			out = append(out, req)
		}
	}
	return out
}

// lastNotification returns the last notification that the client sent before e.
func (s *Session) lastNotification(e *transcript.Event) *transcript.Message {
	var last *transcript.Message
	for _, n := range s.notifications {
		if n.Event.Seq < e.Seq {
			last = n
		}
	}
	return last
}

// isZero reports whether the id is a common zero value for a missing id.
func isZero(id wire.ID) bool { return id.Raw() == "0" || id.Raw() == "-1" || id.Raw() == `""` }

// similarRequest returns the unanswered request whose id could have become the response's id by a
// known mistake.
func (s *Session) similarRequest(r *stray) (*Request, strayClass) {
	for _, req := range s.requests {
		if req.Event.Seq >= r.event.Seq || len(req.Responses) > 0 || req.misidentified != nil || !req.isStrictJSON {
			continue
		}
		if class := compareIDs(req.Message.ID, r.message.ID); class != unsolicited {
			return req, class
		}
	}
	return nil, unsolicited
}

// maxSafe is the largest integer that a double distinguishes from its neighbors.
const maxSafe = 1<<53 - 1

// beyondSafe reports whether the id is an integer that not every server can hold.
func beyondSafe(id wire.ID) bool {
	x, ok := number(id)
	return ok && id.IsInteger() && math.Abs(x) > maxSafe
}

// compareIDs reports how got was made from sent; unsolicited means that it was not.
func compareIDs(sent, got wire.ID) strayClass {
	if sameJSON(sent, got) {
		return respelled
	}
	x, isNumber := number(sent)
	y, gotNumber := number(got)
	if isNumber && gotNumber {
		switch {
		case beyondSafe(sent):
			if closeTo(x, y) {
				return rounded
			}
		case x == y:
			return respelled
		case !sent.IsInteger() && (y == math.Trunc(x) || y == math.Round(x) || y == math.Ceil(x)):
			return echoed
		}
		return unsolicited
	}
	a, b := bare(sent), bare(got)
	switch {
	case a == b, strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)):
		return echoed // another type or spelling
	case sent.Raw() == "true" && b == "1", sent.Raw() == "false" && b == "0":
		return echoed
	case len(b) >= 8 && strings.HasPrefix(a, b):
		return echoed // cut
	}
	if p, err := strconv.ParseFloat(a, 64); err == nil && gotNumber && (p == y || closeTo(p, y) && math.Abs(p) > maxSafe) {
		return echoed // a numeric string became a number
	}
	return unsolicited
}

// closeTo reports whether y is what doubles or 64-bit integers may make of the integer x, which
// they can't hold.
func closeTo(x, y float64) bool {
	const limit = 1 << 63
	return x == y || math.Abs(x-y) <= math.Abs(x)*1e-9 ||
		math.Abs(x) >= limit && (math.Abs(y) == limit || math.Abs(y) == maxSafe)
}

func number(id wire.ID) (float64, bool) {
	if id.Raw() == "" || id.Raw()[0] != '-' && (id.Raw()[0] < '0' || id.Raw()[0] > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(id.Raw(), 64)
	return f, err == nil
}

// bare returns the text of an id without the quotes of a string.
func bare(id wire.ID) string {
	if text, ok := wire.Text(jsontext.Value(id.Raw())); ok {
		return text
	}
	return id.Raw()
}

// sameJSON reports whether both ids are the same JSON value, apart from integers.
func sameJSON(a, b wire.ID) bool {
	x, y := jsontext.Value(a.Raw()).Clone(), jsontext.Value(b.Raw()).Clone()
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y) && !a.IsInteger()
}
