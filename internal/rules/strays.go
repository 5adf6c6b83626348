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

// stray is a response whose id is that of no request.
type stray struct {
	event   *transcript.Event
	message *wire.Message

	class        strayClass
	request      *Request            // the request it was meant for, if any
	notification *transcript.Message // toNotification: the notification it answers
}

// strayClass says what a stray is, and so which one requirement it offends.
type strayClass int

const (
	unsolicited    strayClass = iota // it answers nothing
	excused                          // it answers what could not be read
	respelled                        // the same id, written in another way
	echoed                           // it answers a request, with the id changed
	rounded                          // that, where the id was beyond 2^53-1
	idless                           // an error without an id, though the request could be read
	toNotification                   // it answers a notification
	toResponse                       // it answers a response that answered nothing
)

// maxStrays bounds the work for a server that sends nothing but strays; those
// beyond it answer nothing.
const maxStrays = 1000

// attributedStrays returns the responses whose id is that of no request, and says what
// each of them is. That is known at the end only: what came while a request
// was pending was not meant for it, if that was answered later.
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

// comesAlone reports whether no stray with another id came between the request
// and the next one. Of several, nobody can tell which was meant for it.
func (s *Session) comesAlone(r *stray, req *Request) bool {
	end := math.MaxInt
	for _, next := range s.requests {
		if next.Event.Seq > req.Event.Seq {
			end = next.Event.Seq
			break
		}
	}
	return !slices.ContainsFunc(s.strays[:min(len(s.strays), maxStrays)], func(other *stray) bool {
		return other.message.ID.Key() != r.message.ID.Key() && req.Event.Seq < other.event.Seq && other.event.Seq < end
	})
}

// attributeIDless is for responses with no id, or with null.
func (s *Session) attributeIDless(r *stray) {
	isError := r.message.IsError()
	switch {
	case isError && (s.isRefusable(r.event) || s.missesBatch(r.event)):
		r.class = excused
		return
	case !r.message.Has("result") && !isError:
		r.class = excused // that it is no response at all is said elsewhere
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

// isTooEarly reports whether a request that expects no response yet, as initialize
// has not succeeded, was sent before e and has none: e may be that.
func (s *Session) isTooEarly(e *transcript.Event) bool {
	if s.Initialize == nil || s.Initialize.Succeeded() {
		return false
	}
	return slices.ContainsFunc(s.requests, func(req *Request) bool {
		return req != s.Initialize && req.Event.Seq < e.Seq && len(req.Responses) == 0 && req.misidentified == nil
	})
}

// attributeExtras looks for second answers to one request that were meant for
// another: an id may be changed into that of a request, too.
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

// isMisread reports whether the client sent a request whose bytes nobody can read
// for certain, and whose id may have been taken for that of the response.
func (s *Session) isMisread(r *stray) bool {
	return slices.ContainsFunc(s.requests, func(req *Request) bool {
		return !req.isStrictJSON && req.Event.Seq < r.event.Seq && len(req.Responses) == 0 && compareIDs(req.Message.ID, r.message.ID) != unsolicited
	})
}

// answersPointless reports whether an error has the id of a response that the
// client sent before, and that answered nothing.
func (s *Session) answersPointless(e *transcript.Event, m *wire.Message) bool {
	sent := s.pointlessReplies[m.ID.Key()]
	return sent != nil && sent.Seq < e.Seq && m.IsError()
}

// intendedRequest returns the request without an answer that a second answer to another
// was meant for: one whose illegal id is like its own, or the only one that
// misses its answer; nil for neither.
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

// isRefusable reports whether the client sent, before e, what a server may refuse
// without knowing whose id to give back.
func (s *Session) isRefusable(e *transcript.Event) bool {
	return len(s.illegal) > 0 && s.illegal[0] < e.Seq
}

// missesBatch reports whether a batch that the client sent before e was never
// answered in full. One that is legal may be refused as a whole: that it should
// have been served is said by the cases that send it.
func (s *Session) missesBatch(e *transcript.Event) bool {
	return slices.ContainsFunc(s.requests, func(req *Request) bool {
		return req.batched && req.Event.Seq < e.Seq && len(req.Responses) == 0
	})
}

// unanswered returns the requests sent before e that were never answered and
// should have been; those with an illegal id count, as silence may be kept
// about them, but no wrong answer given.
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

// isZero reports whether the id is what a program puts where it has none.
func isZero(id wire.ID) bool { return id.Raw() == "0" || id.Raw() == "-1" || id.Raw() == `""` }

// similarRequest returns the unanswered request whose id the response's id was made
// from by a known mistake.
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

// maxSafe is the largest integer that a double tells from its neighbours.
const maxSafe = 1<<53 - 1

// beyondSafe reports whether the id is an integer that not every server can hold.
func beyondSafe(id wire.ID) bool {
	x, ok := number(id)
	return ok && id.IsInteger() && math.Abs(x) > maxSafe
}

// compareIDs says how got was made from sent; unsolicited means not at all.
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
		return echoed // another type, or another spelling
	case sent.Raw() == "true" && b == "1", sent.Raw() == "false" && b == "0":
		return echoed
	case len(b) >= 8 && strings.HasPrefix(a, b):
		return echoed // cut
	}
	if p, err := strconv.ParseFloat(a, 64); err == nil && gotNumber && (p == y || closeTo(p, y) && math.Abs(p) > maxSafe) {
		return echoed // the text of a number became one
	}
	return unsolicited
}

// closeTo takes into account what doubles and 64-bit integers make of an
// integer that they can't hold.
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

// sameJSON reports whether both ids, of whatever type, are the same JSON value.
func sameJSON(a, b wire.ID) bool {
	x, y := jsontext.Value(a.Raw()).Clone(), jsontext.Value(b.Raw()).Clone()
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y) && !a.IsInteger()
}
