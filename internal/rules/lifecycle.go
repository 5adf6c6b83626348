package rules

import (
	"strings"

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
			Start:        WithoutState(Fold{OnEvent: judgeBeforeInitialize}),
		},
		{
			ID:           "rule.initialize-result",
			Title:        "the result of initialize is complete and well-formed",
			Requirements: []string{initializeResponse, initializeSchema},
			Start:        WithoutState(Fold{AtEnd: judgeInitializeResult}),
		},
		{
			ID:           "rule.no-requests-before-initialized",
			Title:        "the server sends no request but ping before initialized",
			Requirements: []string{noEarlyRequests},
			Start:        WithoutState(Fold{OnEvent: judgeBeforeInitialized}),
		},
	}
}

// judgeBeforeInitialize judges messages that the server sends before initialize. It skips
// conversations in which the client sent anything but pings before initialize.
func judgeBeforeInitialize(s *Session, e *transcript.Event, out *Reporter) {
	if e.Kind == transcript.Sent && s.Initialize != nil && s.Initialize.Event == e && !s.Initialize.batched {
		for _, req := range s.ClientRequests() {
			if req != s.Initialize && len(req.Responses) > 0 && !s.brokeOrder && !s.Sent.HasIllegal() && onlyPingsUpTo(s, req) {
				out.MarkObserved(initializeFirst) // an answered ping shows that the server could have sent something
			}
		}
		return
	}
	if s.Initialize != nil || s.Sent.hasMoreThanPings {
		return
	}
	for _, m := range receivedMessages(s, e) {
		if isResponse(m) || m.Kind == wire.Invalid || m.Method == "" {
			continue
		}
		d := verdict.Deviation{
			Requirement: initializeFirst,
			Summary:     "The server sends a message before initialize.",
			Permitted:   "no message before the server has received initialize",
			Seen:        excerpt(m.Raw),
			At:          positionsOf(e),
		}
		if m.Method == spec.MethodPing || m.Method == spec.MethodMessage {
			if len(s.ClientRequests()) > 0 { // the message may be a consequence of an earlier ping of the client
				continue
			}
			d.Summary = "The server sends a ping or a log message before initialize."
			d.Weight = verdict.AtMostWarning // between initialize and notifications/initialized, both would be permitted
		}
		out.Report(d)
	}
}

// onlyPingsUpTo reports whether the request and all requests before it are pings.
func onlyPingsUpTo(s *Session, req *Request) bool {
	for _, b := range s.ClientRequests() {
		if !isPing(b) {
			return false
		}
		if b == req {
			return true
		}
	}
	return false
}

func judgeBeforeInitialized(s *Session, e *transcript.Event, out *Reporter) {
	if s.initialized || s.Initialize == nil {
		return
	}
	for _, m := range receivedMessages(s, e) {
		if asksClient(m) && m.Method != spec.MethodPing {
			out.Report(verdict.Deviation{
				Requirement: noEarlyRequests,
				Summary:     "The server sends a request before initialized.",
				Permitted:   "only pings and notifications until notifications/initialized",
				Seen:        excerpt(m.Raw),
				At:          positionsOf(s.Initialize.Event, e),
			})
		}
		if req := s.requestOf(m); req != nil && req.beforeInitialized {
			out.MarkObserved(noEarlyRequests) // the response to a ping before notifications/initialized: the server could have sent a request
		}
	}
}

func judgeInitializeResult(s *Session, out *Reporter) {
	req := s.Initialize
	if req != nil && len(req.Responses) > 0 && isRefusedOutright(req) {
		out.Report(verdict.Deviation{
			Requirement: initializeResponse,
			Summary:     "The server answers a valid initialize with an error.",
			Permitted:   "a result; an error only where the version is not supported",
			Seen:        excerpt(req.Responses[0].Raw),
			At:          positionsOf(req.Event, req.Responses[0].Event),
		})
		return
	}
	if req == nil || !req.Succeeded() || req.Responses[0].Result().Kind() != '{' || req.Responses[0].Event.IsCut() {
		return
	}
	missing, wrong := checkInitializeResult(req.Responses[0].Result(), s.Revision())
	d := verdict.Deviation{At: positionsOf(req.Event, req.Responses[0].Event)}
	if missing != "" {
		d.Requirement, d.Summary = initializeResponse, "The server's initialize result lacks a required member."
		d.Permitted = "protocolVersion, capabilities, and serverInfo with name and version"
		d.Seen, d.Pointer = "no "+missing, "/result/"+strings.ReplaceAll(missing, ".", "/")
		d.Fix = "Add " + missing + " to the result of initialize."
		out.Report(d)
	} else {
		out.MarkObserved(initializeResponse)
	}
	if wrong != nil {
		d.Requirement, d.Summary = initializeSchema, "The server's initialize result has a member of the wrong type."
		if wrong.Kind != schema.WrongType {
			d.Summary = "The server's initialize result is not valid."
		}
		d.Permitted, d.Seen = wrong.Describe("/result")
		d.Pointer = "/result" + wrong.Pointer
		d.Fix = "Send " + wrong.Permitted + " instead."
		if wrong.Member != "" {
			d.Seen, d.Fix = wrong.Seen+" in "+strings.TrimSuffix("/result"+wrong.Pointer, "/"+wrong.Member), "Add "+wrong.Permitted+"."
		}
		out.Report(d)
	} else {
		out.MarkObserved(initializeSchema)
	}
}
