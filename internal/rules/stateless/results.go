package stateless

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	resultType        = "stateless.result-type"
	resultTypeKnown   = "stateless.result-type-known"
	extensionFallback = "versioning.extension-fallback"
	serverInfo        = "stateless.server-info"
	discoveredInfo    = "discover.server-info"
)

func resultRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.result-types",
			Title:        "each result has a type that the revision or an extension defines",
			Requirements: []string{resultType, resultTypeKnown, extensionFallback},
			Start: func() rules.Fold {
				f := &resultForm{}
				return rules.Fold{OnMessage: rules.MergeHandlers(rules.OnResult("", f.judge), rules.Handlers{
					rules.ClientNotification(""): f.noteSent,
					rules.ClientRequest(""):      f.noteSent,
				})}
			},
		},
		{
			ID:           "rule.server-info",
			Title:        "each result names the server",
			Requirements: []string{serverInfo, discoveredInfo},
			Start: func() rules.Fold {
				u := &unnamedResults{}
				return rules.Fold{OnMessage: rules.OnResult("", u.judge), AtEnd: u.report}
			},
		},
	}
}

// serverInfoAt is the pointer to the server's name and version in a result.
var serverInfoAt = spec.MetaPointer(spec.MetaServerInfo)

// hasOlderForm reports whether a result has nothing that 2026-07-28 adds to results. Such a result
// is one mistake, which the rule on resultType reports.
func hasOlderForm(obs *rules.Observation) bool {
	return obs.Message.ResultAt("/resultType") == nil && !hasHints(obs) && obs.Message.ResultAt(serverInfoAt) == nil
}

// resultForm finds the message at which a server may have turned to a handshake revision: after a
// result with a resultType, the first message that does not name the session's revision.
type resultForm struct {
	seen  bool               // a result had a resultType
	other *rules.Observation // that message, or nil
}

// noteSent notes a request or a notification of the client. Over HTTP the server can't take a request
// for one of the same session as an earlier message.
func (f *resultForm) noteSent(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	if f.other == nil && f.seen && s.Transport == spec.Stdio && (obs.Request == nil || !s.AppliesTo(obs.Request)) {
		f.other = obs
	}
}

// noteForm notes a result with a resultType. If its request was sent after the message in f.other,
// that message changed nothing.
func (f *resultForm) noteForm(obs *rules.Observation) {
	f.seen = true
	if f.other != nil && obs.Request.Event.Seq > f.other.Event.Seq {
		f.other = nil
	}
}

// cancelledRequest returns the request that a message cancels, or nil.
func cancelledRequest(s *rules.Session, obs *rules.Observation) *transcript.Event {
	if obs.Message.Method != spec.MethodCancelled {
		return nil
	}
	for _, req := range s.RequestsWithID(obs.Message.ParamIDAt("/requestId")) {
		if req.Event.Seq < obs.Event.Seq {
			return req.Event
		}
	}
	return nil
}

func (f *resultForm) judge(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !isJudged(s, obs) || obs.Message.Result().Kind() != '{' {
		return
	}
	kind := obs.Message.ResultAt("/resultType")
	text, isText := wire.Text(kind)
	offered, declared := hasExtensions(s.ServerCapabilities), hasExtensions(obs.Request.Metadata.Capabilities)
	if isText && (text == spec.ResultComplete || text == spec.ResultInputRequired) {
		f.noteForm(obs)
		out.MarkObserved(resultType)
		if text == spec.ResultComplete && spec.MayRequireInput(obs.Request.Message.Method) && obs.Message.ResultAt("/inputRequests").Kind() == '{' {
			d := deviationOf(resultTypeKnown, obs)
			d.Summary = "The server's result asks the client for input, but its resultType is complete."
			d.Permitted = "resultType input_required in a result with inputRequests"
			d.Seen, d.Pointer = "inputRequests in a result whose resultType is complete", "/result/resultType"
			d.Weight = verdict.AtMostWarning // a result may have members of its own
			out.Report(d)
			return
		}
		out.MarkObserved(resultTypeKnown)
		if offered && !declared {
			out.MarkObserved(extensionFallback)
		}
		return
	}
	d := deviationOf(resultType, obs)
	switch {
	case kind == nil:
		d.Summary, d.Permitted = "The server's result has no resultType.", `"complete", or "input_required"`
		d.Seen = "a result of " + obs.Request.Message.Method + " with no resultType"
		if hasOlderForm(obs) && obs.Request.Message.Method != spec.MethodListen {
			d.Summary = "The server's result has the form of a handshake revision."
			d.Permitted = "a result in the form of 2026-07-28, with resultType"
			if f.other != nil {
				d.Seen += ", since the client sent " + f.other.Message.Method
				d.At = rules.PositionsOf(cancelledRequest(s, f.other), f.other.Event, obs.Request.Event, obs.Event)
			}
		}
		out.Report(d)
		return
	case !isText:
		d.Summary, d.Permitted, d.Pointer = "The server's resultType is not a string.", `"complete", or "input_required"`, "/result/resultType"
		d.Seen = "resultType " + rules.Excerpt(kind)
		out.Report(d)
		return
	}
	out.MarkObserved(resultType)
	d.Pointer = "/result/resultType"
	switch {
	case offered && declared: // an extension may define it
	case offered:
		d.Requirement, d.Summary = extensionFallback, "The server uses a type of result that only an extension can have."
		d.Permitted = "the behavior without extensions, or an error, because the client declares no extension"
		out.Report(d)
		out.MarkReportedElsewhere(resultTypeKnown)
	default:
		d.Requirement, d.Summary = resultTypeKnown, "The server's resultType is unknown."
		d.Permitted = `"complete", "input_required", or a type of an extension that both sides declare`
		out.Report(d)
	}
}

// hasExtensions reports whether the capabilities name an extension.
func hasExtensions(capabilities jsontext.Value) bool {
	names, _ := wire.Members(wire.At(capabilities, "/extensions"))
	return len(names) > 0
}

// unnamedResults has the first results that do not name the server: of server/discover, and of
// other methods. If there are both, they show the same mistake.
type unnamedResults struct{ discovery, other *verdict.Deviation }

// judge judges whether a result names the server. It skips malformed values, which the message
// shape rule reports.
func (u *unnamedResults) judge(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !isJudged(s, obs) || obs.Message.Result().Kind() != '{' {
		return
	}
	requirement := serverInfo
	if obs.Request.Message.Method == spec.MethodDiscover {
		requirement = discoveredInfo
	}
	info := obs.Message.ResultAt(serverInfoAt)
	_, name := wire.Text(wire.At(info, "/name"))
	_, version := wire.Text(wire.At(info, "/version"))
	switch {
	case info == nil && hasOlderForm(obs):
		out.MarkReportedElsewhere(requirement)
	case info == nil:
		d := deviationOf(requirement, obs)
		d.Summary, d.Permitted = "The server's result does not name the server.", spec.MetaServerInfo+" in _meta"
		d.Seen = "a result of " + obs.Request.Message.Method + " with no " + spec.MetaServerInfo + " in _meta"
		first := &u.other
		if requirement == discoveredInfo {
			first = &u.discovery
		}
		if *first == nil {
			*first = &d
		}
	case !name || !version:
		out.MarkReportedElsewhere(requirement)
	default:
		out.MarkObserved(serverInfo)
		if requirement == discoveredInfo {
			out.MarkObserved(discoveredInfo)
		}
	}
}

func (u *unnamedResults) report(_ *rules.Session, out *rules.Reporter) {
	switch {
	case u.discovery != nil:
		out.Report(*u.discovery)
		out.MarkReportedElsewhere(serverInfo)
	case u.other != nil:
		out.Report(*u.other)
	}
}
