package utilities

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	onlyRequested = "progress.only-requested-tokens"
	tokenEcho     = "progress.token-echo"
	onlyActive    = "progress.only-in-progress"
	stopsAfter    = "progress.stops-after-completion"
	increases     = "progress.increases"
	rateLimited   = "progress.rate-limited"
	tokenUnique   = "progress.server-token-unique"
)

func progressRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.progress-tokens",
			Title:        "progress names the token of a request that is still in progress",
			Requirements: []string{onlyRequested, tokenEcho, onlyActive, stopsAfter},
			Start:        progressTokens,
		},
		{
			ID:           "rule.progress-increases",
			Title:        "progress increases with each notification",
			Requirements: []string{increases},
			Start:        progressIncreases,
		},
		{
			ID:           "rule.progress-rate",
			Title:        "progress does not flood the client",
			Requirements: []string{rateLimited},
			Start:        progressRate,
		},
		{
			ID:           "rule.progress-tokens-of-server",
			Title:        "concurrent requests of the server have different progress tokens",
			Requirements: []string{tokenUnique},
			Start:        serverTokens,
		},
	}
}

// listenTime is how long the conversation has to go on after an answer over
// Streamable HTTP for it to be said that no progress followed: the stream of the
// request is closed by then, and what comes on another one comes late.
const listenTime = 200 * time.Millisecond

func progressTokens() rules.Fold {
	g := newGrants()
	reported := map[*rules.Asked]bool{}
	var over []*transcript.Event // answers over Streamable HTTP to what reported progress
	var last *transcript.Event   // the newest answer
	return rules.Fold{Hear: onAnswers(rules.Hears{
		rules.ClientRequest(""): func(_ *rules.Session, h *rules.Heard, _ *rules.Out) { g.note(h.Asked) },
		rules.Notification(spec.MethodProgress): func(s *rules.Session, h *rules.Heard, out *rules.Out) {
			token := namedToken(h.Message)
			if !token.Present() || !s.Began() {
				return
			}
			all := g.of(token)
			if len(all) == 0 {
				notGiven(s, g, token, h, out)
				return
			}
			out.Subject(onlyRequested)
			out.Subject(tokenEcho)
			for _, a := range all {
				if len(a.Responses) > 0 {
					continue
				}
				if onStream(s, a, h.Event) {
					reported[a] = true
				}
				if s.Transport != spec.StreamableHTTP {
					out.Subject(onlyActive)
				}
				return
			}
			afterwards(s, all, h, out)
		},
	}, func(s *rules.Session, h *rules.Heard, out *rules.Out) {
		last = h.Event
		switch {
		case !reported[h.Asked] || !onStream(s, h.Asked, h.Event):
		case s.Transport == spec.StreamableHTTP:
			over = append(over, h.Event)
		default: // it had its chance to go on
			out.Subject(stopsAfter)
		}
	}), End: func(_ *rules.Session, out *rules.Out) {
		for _, answer := range over {
			if last.At == 0 || last.At-answer.At >= listenTime { // a record without times, or long enough
				out.Subject(onlyActive)
				out.Subject(stopsAfter)
			}
		}
	}}
}

// notGiven judges progress whose token no request gave.
func notGiven(s *rules.Session, g *grants, token wire.ID, h *rules.Heard, out *rules.Out) {
	d := verdict.Deviation{Permitted: "the token of a request that is in progress", Seen: rules.Excerpt(h.Message.Raw)}
	a := g.like(token)
	switch {
	case s.Garbled(strings.Trim(token.Raw(), `"`)): // it may have been given in what can't be read
		return
	case a != nil:
		d.Requirement, d.Summary, d.At = tokenEcho, "The server changes a progressToken.", rules.At(a.Event, h.Event)
		d.Permitted = "the token unchanged, in type and value: " + rules.Excerpt(tokenOf(a.Message).Raw())
		out.Elsewhere(onlyRequested)
	default:
		d.Requirement, d.Summary, d.At = onlyRequested, "The server sends progress with a token that no request has.", rules.At(h.Event)
	}
	out.Found(d)
}

// afterwards judges progress whose token belongs to requests that were answered.
func afterwards(s *rules.Session, all []*rules.Asked, h *rules.Heard, out *rules.Out) {
	a := all[len(all)-1]
	answer := a.Responses[len(a.Responses)-1].Event
	if answer == h.Event || !a.WellFormed || becameTask(s, a) {
		return
	}
	if !inOrder(s, a, answer, h.Event) || s.Transport == spec.StreamableHTTP && len(all) > 1 {
		// It may have been sent before the answer, or not: neither can be said.
		out.Elsewhere(onlyActive)
		out.Elsewhere(stopsAfter)
		return
	}
	d := verdict.Deviation{
		Requirement: stopsAfter,
		Summary:     "The server reports progress after the result.",
		Permitted:   "progress only before the result",
		Seen:        rules.Excerpt(h.Message.Raw),
		At:          rules.At(a.Event, answer, h.Event),
	}
	if !a.Succeeded() {
		d.Requirement, d.Summary = onlyActive, "The server reports progress of a request that failed."
		d.Permitted = "progress of requests that are in progress"
	}
	out.Found(d)
}

// becameTask reports whether the result of a request is a task, which goes on.
func becameTask(s *rules.Session, a *rules.Asked) bool {
	return s.Revision() == spec.V20251125 && wire.At(a.Responses[0].Result(), "/task") != nil
}

// step is the last progress of a request.
type step struct {
	of    *rules.Asked
	event *transcript.Event
	text  string
	value float64
}

func progressIncreases() rules.Fold {
	g := newGrants()
	last := map[string]step{}
	return rules.Fold{Hear: rules.Hears{
		rules.ClientRequest(""): func(_ *rules.Session, h *rules.Heard, _ *rules.Out) { g.note(h.Asked) },
		rules.Notification(spec.MethodProgress): func(s *rules.Session, h *rules.Heard, out *rules.Out) {
			token := namedToken(h.Message)
			value, ok := number(wire.At(h.Message.Params(), "/progress"))
			a := g.alone(token)
			if !token.Present() || !ok || a == nil {
				return
			}
			now := step{a, h.Event, string(wire.At(h.Message.Params(), "/progress")), value}
			before, repeated := last[token.Key()]
			last[token.Key()] = now
			switch {
			case !repeated || before.of != a:
			case !ordered(s) && before.event.Exchange != now.event.Exchange && now.value <= before.value:
				// a stream that is resumed may bring it again, and streams overtake each other
			case now.value > before.value:
				out.Subject(increases)
			case now.value == before.value && now.text != before.text && math.Abs(now.value) >= 1<<53:
				// they differ in digits that doubles do not have
			default:
				out.Found(verdict.Deviation{
					Requirement: increases,
					Summary:     "The server's progress does not increase.",
					Permitted:   "a greater value in each notification, even if the total is unknown",
					Seen:        fmt.Sprintf("%s after %s", rules.Excerpt(now.text), rules.Excerpt(before.text)),
					At:          rules.At(a.Event, before.event, h.Event),
				})
			}
		},
	}}
}

// number returns the value of a JSON number that a double can hold.
func number(v jsontext.Value) (float64, bool) {
	if v.Kind() != '0' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	return f, err == nil
}

// What counts as flooding is not said anywhere, so it is far more than any client
// can look at.
const (
	flood       = 200
	floodWindow = time.Second
)

func progressRate() rules.Fold {
	recent := map[string][]*transcript.Event{}
	return rules.Fold{Hear: rules.Hears{rules.Notification(spec.MethodProgress): func(_ *rules.Session, h *rules.Heard, out *rules.Out) {
		token := namedToken(h.Message)
		if !token.Present() {
			return
		}
		recent[token.Key()] = append(recent[token.Key()], h.Event)
		all := recent[token.Key()]
		if len(all) > flood {
			all = all[1:]
		}
		recent[token.Key()] = all
		took := h.Event.At - all[0].At
		switch {
		case len(all) < 2 || took == 0: // a record without times
		case len(all) < flood || took >= floodWindow:
			out.Subject(rateLimited)
		default:
			out.Found(verdict.Deviation{
				Requirement: rateLimited,
				Summary:     "The server reports progress over two hundred times a second.",
				Permitted:   "as many notifications as a user can read",
				Seen:        fmt.Sprintf("%d notifications for the token %s in %v", len(all), rules.Excerpt(token.Raw()), took.Round(time.Millisecond)),
				At:          rules.At(all[0], h.Event),
			})
			recent[token.Key()] = nil
		}
	}}}
}

// serverTokens judges a request when the client answers it: until then it was
// active, and so was whatever came meanwhile.
func serverTokens() rules.Fold {
	given := map[string][]*transcript.Request{}
	return rules.Fold{Hear: rules.Hears{
		rules.ServerRequest(""): func(_ *rules.Session, h *rules.Heard, _ *rules.Out) {
			if token := tokenOf(h.Message); token.IsString() || token.IsInteger() {
				given[token.Key()] = append(unreplied(given[token.Key()]), h.Posed)
			}
		},
		rules.ClientReply(""): func(_ *rules.Session, h *rules.Heard, out *rules.Out) {
			p, token := h.Posed, tokenOf(h.Posed.Message)
			if !token.Present() {
				return
			}
			for _, q := range given[token.Key()] {
				if q.Event.Seq <= p.Event.Seq || q.Event.Seq > h.Event.Seq || len(p.Cancellations) > 0 && p.Cancellations[0].Event.Seq < q.Event.Seq {
					continue
				}
				out.Found(verdict.Deviation{
					Requirement: tokenUnique,
					Summary:     "The server uses a progressToken for two requests at once.",
					Permitted:   "tokens that are unique over all active requests",
					Seen:        fmt.Sprintf("%s with the token of the %s before it: %s", rules.Excerpt(q.Message.Method), rules.Excerpt(p.Message.Method), rules.Excerpt(token.Raw())),
					At:          rules.At(p.Event, q.Event),
				})
				return
			}
			out.Subject(tokenUnique)
		},
	}}
}

// unreplied drops requests that have a reply where there are many.
func unreplied(all []*transcript.Request) []*transcript.Request {
	if len(all) < many {
		return all
	}
	return slices.DeleteFunc(all, func(p *transcript.Request) bool { return p.Response() != nil })
}
