package clientfeatures

import (
	"math"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	urlHTTPS        = "elicitation.url.https"
	urlNoSecrets    = "elicitation.url.no-sensitive-data" //nolint:gosec // the name of a requirement
	idUnique        = "elicitation.url.id-unique-2025-11-25"
	completeKnownID = "elicitation.complete.known-id-2025-11-25"
)

func urlRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.elicitation-urls",
			Title:        "URLs of elicitations use https and contain no credentials",
			Requirements: []string{urlHTTPS, urlNoSecrets},
			Start: rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{
				rules.ServerRequest(spec.MethodElicit): func(_ *rules.Session, obs *rules.Observation, out *rules.Reporter) {
					if elicitationMode(obs.Message.Params()) == "url" {
						judgeURL(obs.Message.ParamAt("/url"), obs, out)
					}
				},
				rules.ErrorTo(""): func(_ *rules.Session, obs *rules.Observation, out *rules.Reporter) {
					for _, e := range requiredElicitations(obs) {
						judgeURL(wire.At(e, "/url"), obs, out)
					}
				},
			}}),
		},
		{
			ID:           "rule.elicitation-ids",
			Title:        "each URL elicitation has its own id, and each completion names a known one",
			Requirements: []string{idUnique, completeKnownID},
			Start:        elicitationIDs,
		},
	}
}

// requiredElicitations returns the elicitations that an error requires; nil for any other error.
func requiredElicitations(obs *rules.Observation) []jsontext.Value {
	if code, ok := obs.Message.ErrorCode(); !ok || spec.Code(code) != spec.CodeURLElicitation {
		return nil
	}
	return wire.Elements(wire.At(obs.Message.Member("error"), "/data/elicitations"))
}

// judgeURL judges the URL of an elicitation. Another rule checks that it is a URL at all.
func judgeURL(v jsontext.Value, obs *rules.Observation, out *rules.Reporter) {
	text, _ := wire.Text(v)
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return
	}
	d := verdict.Deviation{Seen: rules.Excerpt(text), At: rules.PositionsOf(obs.Event)}
	switch scheme := strings.ToLower(u.Scheme); {
	case scheme == "https":
		out.MarkObserved(urlHTTPS)
	case scheme == "http" && isDevelopmentHost(u.Hostname()):
	default:
		d.Requirement, d.Summary = urlHTTPS, "The server sends the user to a page without https."
		d.Permitted = "https; http only in development"
		out.Report(d)
	}
	if password, ok := u.User.Password(); ok && password != "" {
		d.Requirement, d.Summary = urlNoSecrets, "The server's elicitation URL contains a user name and a password."
		d.Permitted = "a URL without credentials and without personal data of the user"
		out.Report(d)
		return
	}
	out.MarkObserved(urlNoSecrets)
}

// isDevelopmentHost reports whether a host is most likely not public.
func isDevelopmentHost(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return !strings.Contains(host, ".") || slices.ContainsFunc([]string{".localhost", ".local", ".test", ".internal", ".example", ".lan", ".home.arpa", ".invalid"}, func(end string) bool {
		return strings.HasSuffix(host, end)
	})
}

// urlElicitation is an elicitation by URL.
type urlElicitation struct {
	url   string
	event *transcript.Event
}

// earlyCompletion is a completion that arrived before its elicitation was seen.
type earlyCompletion struct {
	id    string
	found verdict.Deviation
	event *transcript.Event
}

// firstUnknownElicitation returns the position of the first request to which the client may have
// missed an error that requires a URL elicitation: the request was cancelled, has no response, or
// became a task, whose result may never be fetched. If there is no such request, it returns
// math.MaxInt.
func firstUnknownElicitation(s *rules.Session) int {
	for _, req := range s.ClientRequests() {
		if req.IsCancelled() || len(req.Responses) == 0 || req.Succeeded() && wire.At(req.Responses[0].Member("result"), "/task") != nil {
			return req.Event.Seq
		}
	}
	return math.MaxInt
}

func elicitationIDs() rules.Fold {
	requested := map[string]urlElicitation{} // by id, from requests
	// known are the ids from requests and errors, each with the exchange in which it first
	// appeared.
	known := map[string]int{}
	var early []earlyCompletion
	learn := func(e jsontext.Value, at *transcript.Event) (id string, ok bool) {
		if id, ok = wire.Text(wire.At(e, "/elicitationId")); ok {
			if _, before := known[id]; !before {
				known[id] = at.Exchange
			}
		}
		return id, ok
	}
	return rules.Fold{OnMessage: rules.Handlers{
		rules.ErrorTo(""): func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
			for _, e := range requiredElicitations(obs) {
				learn(e, obs.Event)
			}
		},
		rules.ServerRequest(spec.MethodElicit): func(_ *rules.Session, obs *rules.Observation, out *rules.Reporter) {
			if elicitationMode(obs.Message.Params()) != "url" {
				return
			}
			id, ok := learn(obs.Message.Params(), obs.Event)
			if !ok {
				return
			}
			text, _ := wire.Text(obs.Message.ParamAt("/url"))
			before, again := requested[id]
			if again && before.url != text { // with the same URL it may be the same elicitation
				out.Report(verdict.Deviation{
					Requirement: idUnique,
					Summary:     "The server uses an elicitationId for two elicitations.",
					Permitted:   "a unique id for each",
					Seen:        "elicitationId " + rules.Excerpt(wire.Quote(id)) + " for another URL",
					At:          rules.PositionsOf(before.event, obs.Event),
				})
				return
			}
			requested[id] = urlElicitation{text, obs.Event}
			if len(requested) > 1 && !again {
				out.MarkObserved(idUnique)
			}
		},
		rules.Notification(spec.MethodElicitDone): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
			id, ok := wire.Text(obs.Message.ParamAt("/elicitationId"))
			_, before := known[id]
			switch {
			case !s.Began() || !ok:
			case before:
				out.MarkObserved(completeKnownID)
			default:
				early = append(early, earlyCompletion{id, verdict.Deviation{
					Requirement: completeKnownID,
					Summary:     "The server completes an elicitation that it had not requested.",
					Permitted:   "the elicitationId of an earlier elicitation/create or error -32042",
					Seen:        rules.Excerpt(obs.Message.Raw),
					At:          rules.PositionsOf(obs.Event),
				}, obs.Event})
			}
		},
	}, AtEnd: func(s *rules.Session, out *rules.Reporter) {
		first := firstUnknownElicitation(s)
		for _, e := range early {
			exchange, later := known[e.id]
			switch {
			case later && exchange != e.event.Exchange: // two streams have no order between them
				out.MarkObserved(completeKnownID)
			case e.event.Seq < first:
				out.Report(e.found)
			}
		}
	}}
}
