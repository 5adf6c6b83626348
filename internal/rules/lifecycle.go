package rules

import (
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	initializeFirst    = "lifecycle.initialize-first"
	initializeResponse = "lifecycle.initialize-response"
	initializeSchema   = "lifecycle.initialize-result-schema"
	noEarlyRequests    = "lifecycle.no-requests-before-initialized"
)

func lifecycleRules() []Rule {
	return []Rule{
		{
			ID:           "rule.initialize-first",
			Title:        "the server sends nothing before initialize",
			Requirements: []string{initializeFirst},
			Start:        Stateless(Fold{See: beforeInitialize}),
		},
		{
			ID:           "rule.initialize-result",
			Title:        "the result of initialize is complete and well-formed",
			Requirements: []string{initializeResponse, initializeSchema},
			Start:        Stateless(Fold{End: initializeResult}),
		},
		{
			ID:           "rule.no-requests-before-initialized",
			Title:        "the server sends no request but ping before initialized",
			Requirements: []string{noEarlyRequests},
			Start:        Stateless(Fold{See: beforeInitialized}),
		},
	}
}

// beforeInitialize judges what the server says unasked. A client that sent
// anything but pings before initialize has itself to blame for what comes.
func beforeInitialize(s *Session, e *transcript.Event, out *Out) {
	if e.Kind == transcript.Sent && s.Initialize != nil && s.Initialize.Event == e && !s.Initialize.batched {
		for _, a := range s.All() {
			if a != s.Initialize && len(a.Responses) > 0 && !s.disorderly && !s.unruly && onlyPingsBefore(s, a) {
				out.Subject(initializeFirst) // an answered ping shows that the server had its chance
			}
		}
		return
	}
	if s.Initialize != nil || s.beyondPing {
		return
	}
	for _, m := range received(s, e) {
		if isAnswer(m) || m.Kind == wire.Invalid || m.Method == "" {
			continue
		}
		d := verdict.Deviation{
			Requirement: initializeFirst,
			Summary:     "The server sends a message before initialize.",
			Permitted:   "silence until initialize",
			Seen:        excerpt(m.Raw),
			At:          at(e),
		}
		if m.Method == spec.MethodPing || m.Method == spec.MethodMessage {
			d.Summary = "The server sends a ping or a log message before initialize."
			d.Weight = verdict.AtMostWarning // later on, both are exempt
		}
		out.Found(d)
	}
}

// onlyPingsBefore reports whether a and all requests before it are pings.
func onlyPingsBefore(s *Session, a *Asked) bool {
	for _, b := range s.All() {
		if !isPing(b) {
			return false
		}
		if b == a {
			return true
		}
	}
	return false
}

func beforeInitialized(s *Session, e *transcript.Event, out *Out) {
	if s.Initialized || s.Initialize == nil {
		return
	}
	for _, m := range received(s, e) {
		if asksClient(m) && m.Method != spec.MethodPing {
			out.Found(verdict.Deviation{
				Requirement: noEarlyRequests,
				Summary:     "The server sends a request before initialized.",
				Permitted:   "only pings and notifications until notifications/initialized",
				Seen:        excerpt(m.Raw),
				At:          at(s.Initialize.Event, e),
			})
		}
		if a := s.Answered(m); a != nil && a.early {
			out.Subject(noEarlyRequests) // the answer to a ping shows that initialized was held back
		}
	}
}

func initializeResult(s *Session, out *Out) {
	a := s.Initialize
	if a != nil && len(a.Responses) > 0 && refusedOutright(a) {
		out.Found(verdict.Deviation{
			Requirement: initializeResponse,
			Summary:     "The server answers a valid initialize with an error.",
			Permitted:   "a result; an error only where the version is not supported",
			Seen:        excerpt(a.Responses[0].Raw),
			At:          at(a.Event, a.Responses[0].Event),
		})
		return
	}
	if a == nil || !a.Succeeded() || a.Responses[0].Result().Kind() != '{' || a.Responses[0].Event.IsCut() {
		return
	}
	missing, wrong := initializeShape(a.Responses[0].Result(), s.Revision())
	d := verdict.Deviation{At: at(a.Event, a.Responses[0].Event)}
	if missing != "" {
		d.Requirement, d.Summary = initializeResponse, "The server's initialize result lacks a required member."
		d.Permitted = "protocolVersion, capabilities, and serverInfo with name and version"
		d.Seen = "no " + missing
		out.Found(d)
	} else {
		out.Subject(initializeResponse)
	}
	if wrong != nil {
		d.Requirement, d.Summary = initializeSchema, "The server's initialize result has a member of the wrong type."
		if wrong.Kind != schema.WrongType {
			d.Summary = "The server's initialize result is not valid."
		}
		d.Permitted, d.Seen, d.Pointer = wrong.Permitted, wrong.Seen+" at "+wrong.Pointer, "/result"+wrong.Pointer
		out.Found(d)
	} else {
		out.Subject(initializeSchema)
	}
}
