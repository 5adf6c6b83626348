package utilities

import (
	"cmp"
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

// listenTime is how long the conversation has to continue after a response over Streamable HTTP
// to show that no progress followed: the request's stream is closed by then, and messages on
// other streams come late.
const listenTime = 200 * time.Millisecond

func progressTokens() rules.Fold {
	g := newTokenRequests()
	reported := map[*rules.Request]bool{}
	var finished []*transcript.Event // responses over Streamable HTTP to requests with progress
	var last *transcript.Event       // the latest response
	return rules.Fold{OnMessage: withResponses(rules.Handlers{
		rules.ClientRequest(""): func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) { g.note(obs.Request) },
		rules.Notification(spec.MethodProgress): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
			token := namedToken(obs.Message)
			if !token.IsPresent() || !isGovernedByRevision(s, obs.Event) {
				return
			}
			all := g.withToken(token)
			if len(all) == 0 {
				judgeUnknownToken(s, g, token, obs, out)
				return
			}
			out.MarkObserved(onlyRequested)
			out.MarkObserved(tokenEcho)
			for _, req := range all {
				if len(req.Responses) > 0 {
					continue
				}
				if isOnStream(s, req, obs.Event) {
					reported[req] = true
				}
				if s.Transport != spec.StreamableHTTP {
					out.MarkObserved(onlyActive)
				}
				return
			}
			judgeLateProgress(s, all, obs, out)
		},
	}, func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		last = obs.Event
		switch {
		case !reported[obs.Request] || !isOnStream(s, obs.Request, obs.Event):
		case s.Transport == spec.StreamableHTTP:
			finished = append(finished, obs.Event)
		default: // the request had the chance to report more progress
			out.MarkObserved(stopsAfter)
		}
	}), AtEnd: func(_ *rules.Session, out *rules.Reporter) {
		for _, answer := range finished {
			if last.At == 0 || last.At-answer.At >= listenTime { // a transcript without times, or enough time
				out.MarkObserved(onlyActive)
				out.MarkObserved(stopsAfter)
			}
		}
	}}
}

// judgeUnknownToken judges progress with a token that no request has.
func judgeUnknownToken(s *rules.Session, g *tokenRequests, token wire.ID, obs *rules.Observation, out *rules.Reporter) {
	d := verdict.Deviation{Permitted: "the token of a request that is in progress", Seen: rules.Excerpt(obs.Message.Raw)}
	req := g.similarRequest(token)
	switch {
	case s.Sent.HasGarbled(strings.Trim(token.Raw(), `"`)): // a request that can't be read may have the token
		return
	case req != nil:
		d.Requirement, d.Summary, d.At = tokenEcho, "The server changes a progressToken.", rules.PositionsOf(req.Event, obs.Event)
		d.Permitted = "the token unchanged, in type and value: " + rules.Excerpt(tokenOf(req.Message).Raw())
		d.Pointer, d.Earlier = "/params/progressToken", "/params/_meta/progressToken"
		out.MarkReportedElsewhere(onlyRequested)
	default:
		d.Requirement, d.Summary, d.At = onlyRequested, "The server sends progress with a token that no request has.", rules.PositionsOf(obs.Event)
	}
	out.Report(d)
}

// judgeLateProgress judges progress with a token whose requests were all answered.
func judgeLateProgress(s *rules.Session, all []*rules.Request, obs *rules.Observation, out *rules.Reporter) {
	req := all[len(all)-1]
	answer := req.Responses[len(req.Responses)-1].Event
	if answer == obs.Event || !req.WellFormed || becameTask(s, req) {
		return
	}
	if !isInOrder(s, req, answer, obs.Event) || s.Transport == spec.StreamableHTTP && len(all) > 1 {
		// It is unknown whether the progress was sent before or after the response, so neither
		// requirement counts as kept.
		out.MarkReportedElsewhere(onlyActive)
		out.MarkReportedElsewhere(stopsAfter)
		return
	}
	d := verdict.Deviation{
		Requirement: stopsAfter,
		Summary:     "The server reports progress after the result.",
		Permitted:   "progress only before the result",
		Seen:        rules.Excerpt(obs.Message.Raw),
		At:          rules.PositionsOf(req.Event, answer, obs.Event),
	}
	if !req.Succeeded() {
		d.Requirement, d.Summary = onlyActive, "The server reports progress of a request that failed."
		d.Permitted = "progress of requests that are in progress"
	}
	out.Report(d)
}

// becameTask reports whether a request became a task, which continues after the response.
func becameTask(s *rules.Session, req *rules.Request) bool {
	return s.Revision().HasTasks() && req.Responses[0].ResultAt("/task") != nil
}

// lastProgress is the latest progress of a request.
type lastProgress struct {
	request *rules.Request
	event   *transcript.Event
	text    string
	value   float64
}

func progressIncreases() rules.Fold {
	g := newTokenRequests()
	last := map[string]lastProgress{}
	return rules.Fold{OnMessage: rules.Handlers{
		rules.ClientRequest(""): func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) { g.note(obs.Request) },
		rules.Notification(spec.MethodProgress): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
			token := namedToken(obs.Message)
			value, ok := parseNumber(obs.Message.ParamAt("/progress"))
			req := g.onlyPossibleRequest(token)
			if !token.IsPresent() || !ok || req == nil {
				return
			}
			now := lastProgress{req, obs.Event, string(obs.Message.ParamAt("/progress")), value}
			before, repeated := last[token.Key()]
			last[token.Key()] = now
			switch {
			case !repeated || before.request != req:
			case !hasOrderedTransport(s) && before.event.Exchange != now.event.Exchange && now.value <= before.value:
				// a resumed stream may repeat it, and streams may overtake each other
			case now.value > before.value:
				out.MarkObserved(increases)
			case now.value == before.value && now.text != before.text && math.Abs(now.value) >= 1<<53:
				// they differ only beyond the precision of doubles
			default:
				out.Report(verdict.Deviation{
					Requirement: increases,
					Summary:     "The server's progress does not increase.",
					Permitted:   "a greater value in each notification, even if the total is unknown",
					Seen:        fmt.Sprintf("progress %s after progress %s", rules.Excerpt(now.text), rules.Excerpt(before.text)),
					Pointer:     "/params/progress",
					At:          rules.PositionsOf(req.Event, before.event, obs.Event),
				})
			}
		},
	}}
}

// parseNumber returns the value of a JSON number that fits into a double.
func parseNumber(v jsontext.Value) (float64, bool) {
	if v.Kind() != '0' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	return f, err == nil
}

// The specification does not define flooding, so the limit is far above the number of notifications
// that any client can show.
const (
	maxPerWindow = 200
	floodWindow  = time.Second
)

func progressRate() rules.Fold {
	recent := map[string][]*transcript.Event{}
	return rules.Fold{OnMessage: rules.Handlers{rules.Notification(spec.MethodProgress): func(_ *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		token := namedToken(obs.Message)
		if !token.IsPresent() {
			return
		}
		recent[token.Key()] = append(recent[token.Key()], obs.Event)
		all := recent[token.Key()]
		if len(all) > maxPerWindow {
			all = all[1:]
		}
		recent[token.Key()] = all
		took := obs.Event.At - all[0].At
		switch {
		case len(all) < 2 || took == 0: // a transcript without times
		case len(all) < maxPerWindow || took >= floodWindow:
			out.MarkObserved(rateLimited)
		default:
			out.Report(verdict.Deviation{
				Requirement: rateLimited,
				Summary:     "The server reports progress over two hundred times a second.",
				Permitted:   "no more notifications than a user can follow",
				Seen:        fmt.Sprintf("%d notifications for the token %s in %v", len(all), rules.Excerpt(token.Raw()), took.Round(time.Millisecond)),
				At:          rules.PositionsOf(all[0], obs.Event),
			})
			recent[token.Key()] = nil
		}
	}}}
}

// serverTokens judges whether the progress tokens of the server's active requests are unique. It
// judges a request when the client responds to it: until then the request was active, and requests
// that came in between must not have its token.
func serverTokens() rules.Fold {
	return rules.Fold{OnMessage: rules.Handlers{
		rules.ClientReply(""): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
			p, token := obs.ServerRequest, tokenOf(obs.ServerRequest.Message)
			if !token.IsPresent() {
				return
			}
			q := nextWithToken(s, p)
			if q == nil || !token.IsString() && !token.IsInteger() || q.Event.Seq > obs.Event.Seq || len(p.Cancellations) > 0 && p.Cancellations[0].Event.Seq < q.Event.Seq {
				out.MarkObserved(tokenUnique)
				return
			}
			out.Report(verdict.Deviation{
				Requirement: tokenUnique,
				Summary:     "The server uses the same progressToken for two requests at once.",
				Permitted:   "tokens that are unique over all active requests",
				Seen:        fmt.Sprintf("%s has progressToken %s, like %s, which is still open", rules.DescribeRequest(q.Message), rules.Excerpt(token.Raw()), rules.DescribeRequest(p.Message)),
				At:          rules.PositionsOf(p.Event, q.Event),
			})
		},
	}}
}

// nextWithToken returns the next request of the server with the token of p, or nil. It skips
// requests in the same batch as p.
func nextWithToken(s *rules.Session, p *transcript.Request) *transcript.Request {
	all := s.ServerRequestsWithToken(tokenOf(p.Message))
	i, _ := slices.BinarySearchFunc(all, p.Event.Seq+1, func(q *transcript.Request, at int) int { return cmp.Compare(q.Event.Seq, at) })
	if i == len(all) {
		return nil
	}
	return all[i]
}
