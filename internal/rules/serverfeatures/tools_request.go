package serverfeatures

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	toolMalformed         = "tools.call.malformed-request-error"
	toolArgumentsOptional = "tools.call.arguments-optional"
)

// toolRequests judges the responses to malformed calls, and to calls without arguments of tools
// that require none.
func toolRequests() rules.Fold {
	bare := &optionalTrial{requirement: toolArgumentsOptional, thing: "tool"}
	handle := func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		b := catalogs.Of(s)
		if !isRegular(s, obs) || !s.ServerDeclared("tools") {
			return
		}
		request := obs.Request.Message
		name, named := wire.Text(request.ParamAt("/name"))
		arguments := request.ParamAt("/arguments")
		switch {
		case !named || arguments != nil && arguments.Kind() != '{':
			if out.RequireInterpretable(obs, b.anyCallControl(s), toolMalformed) {
				judgeMalformedCall(obs, named, out)
			}
		case request.ParamAt("/task") == nil && requiresNoArguments(s, b.tools.seen[name]):
			bare.note(name, arguments, obs)
		}
	}
	return rules.Fold{
		Shared:    readsCatalog,
		OnMessage: rules.Handlers{rules.ResultOf(spec.MethodToolsCall): handle, rules.ErrorTo(spec.MethodToolsCall): handle},
		AtEnd:     func(s *rules.Session, out *rules.Reporter) { bare.judge(s, out) },
	}
}

// validCallControl returns the control for an odd call: a call of the same tool with arguments that
// fit its schema.
func (b *catalog) validCallControl(s *rules.Session, name string) rules.Control {
	return rules.Control{
		What:    "a call of " + rules.Excerpt(wire.Quote(name)) + " with valid arguments",
		Matches: func(req *rules.Request) bool { return b.isValidCall(s, req, name) },
	}
}

// anyCallControl returns the control for odd calls that name no tool or an unlisted one: a call of
// a listed tool with valid arguments, or else a tools/list.
func (b *catalog) anyCallControl(s *rules.Session) rules.Control {
	return rules.Control{
		What: "a call of a listed tool with valid arguments", ByName: true,
		Matches:  func(req *rules.Request) bool { return b.isValidCall(s, req, "") },
		Fallback: func(req *rules.Request) bool { return req.Message.Method == spec.MethodToolsList },
	}
}

// isValidCall reports whether the request is a call, with valid arguments, of the named tool, or of
// any listed tool if name is empty.
func (b *catalog) isValidCall(s *rules.Session, req *rules.Request, name string) bool {
	if req.Message.Method != spec.MethodToolsCall {
		return false
	}
	called, _ := wire.Text(req.Message.ParamAt("/name"))
	if name != "" && called != name || req.Message.ParamAt("/task") != nil || b.tools.seen[called] == nil {
		return false
	}
	arguments := req.Message.ParamAt("/arguments")
	if arguments == nil {
		return requiresNoArguments(s, b.tools.seen[called])
	}
	input := wire.At(b.tools.seen[called], "/inputSchema")
	return input.Kind() == '{' && arguments.Kind() == '{' && acceptsArguments(s, input, arguments)
}

func judgeMalformedCall(obs *rules.Observation, named bool, out *rules.Reporter) {
	if obs.Message.IsError() {
		out.MarkObserved(toolMalformed)
		return
	}
	d := deviationOf(toolMalformed, obs)
	flaw := describeFlaw("params.name", obs.Request.Message.ParamAt("/name"))
	if named {
		flaw = describeFlaw("params.arguments", obs.Request.Message.ParamAt("/arguments"))
	}
	d.Seen = describeDespite(obs, flaw)
	d.Summary, d.Permitted = "The server serves a malformed tools/call.", "an error, usually with code -32602"
	if isFailedResult(obs.Message) {
		d.Summary, d.Seen = "The server refuses a malformed tools/call in a result, not an error.", "a result with isError, though "+flaw
		d.Weight = verdict.OnlyNote
	}
	out.Report(d)
}

// requiresNoArguments reports whether a listed tool accepts empty arguments.
func requiresNoArguments(s *rules.Session, tool jsontext.Value) bool {
	input := wire.At(tool, "/inputSchema")
	return input.Kind() == '{' && len(wire.Elements(wire.At(input, "/required"))) == 0 && acceptsArguments(s, input, noArguments)
}

var noArguments = jsontext.Value("{}")

// acceptsKey is the memo key of acceptsArguments: where the schema and the arguments are in memory.
type acceptsKey struct{ input, arguments *byte }

// acceptsArguments reports whether the arguments of a request conform to the tool's schema. It
// returns true if that can't be decided.
func acceptsArguments(s *rules.Session, input, arguments jsontext.Value) bool {
	return rules.Memo(s, acceptsKey{&input[0], &arguments[0]}, func() bool { return conforms(s, input, arguments) })
}

// conforms is like acceptsArguments, without the memo.
func conforms(s *rules.Session, input, arguments jsontext.Value) bool {
	return len(schema.For(s.Revision()).CheckStructuredContent(input, arguments)) == 0
}

// optionalTrial compares the results of requests without arguments and with an empty arguments
// object.
type optionalTrial struct {
	requirement string
	thing       string
	order       []string
	bare, empty map[string]*rules.Observation // by name: the first response to a request without arguments, and with an empty object
	turns       map[string]*turns
}

// turns are the outcomes of requests without arguments, and with an empty object, in their order.
type turns struct {
	failed, served []*rules.Observation // in turn: -32603 without arguments, and a success with an empty object
	mixed          bool                 // a request without arguments had another outcome, or one with an empty object failed
}

func (t *turns) note(isBare bool, obs *rules.Observation) {
	code, _ := obs.Message.ErrorCode()
	switch {
	case isBare && spec.Code(code) == spec.CodeInternal:
		if len(t.failed) == len(t.served) {
			t.failed = append(t.failed, obs)
		}
	case isBare || !isSuccess(obs.Message):
		t.mixed = true
	case len(t.failed) > len(t.served):
		t.served = append(t.served, obs)
	}
}

// areConclusive reports whether the missing arguments are the reason for an internal error: it came
// for each request without them, at least twice, and for none with an empty object, which was sent
// in between. No other request was in progress, because otherwise the reason may be the load.
func (t *turns) areConclusive(s *rules.Session) bool {
	return !t.mixed && len(t.served) > 1 && !slices.ContainsFunc(t.failed, func(obs *rules.Observation) bool {
		return slices.ContainsFunc(s.ClientRequests(), func(other *rules.Request) bool {
			return other != obs.Request && other.Message.Method != spec.MethodListen && other.Event.Seq < obs.Event.Seq &&
				len(other.Responses) > 0 && other.Responses[0].Event.Seq > obs.Request.Event.Seq
		})
	})
}

func (w *optionalTrial) note(name string, arguments jsontext.Value, obs *rules.Observation) {
	if w.bare == nil {
		w.bare, w.empty = map[string]*rules.Observation{}, map[string]*rules.Observation{}
		w.turns = map[string]*turns{}
	}
	into := w.empty
	switch members, _ := wire.Members(arguments); {
	case arguments == nil:
		into = w.bare
		if into[name] == nil {
			w.order = append(w.order, name)
		}
	case len(members) > 0:
		return
	}
	if into[name] == nil {
		into[name] = obs
	}
	if w.turns[name] == nil {
		w.turns[name] = &turns{}
	}
	w.turns[name].note(arguments == nil, obs)
}

// judge reports the names for which a request without arguments is refused, although a request with
// an empty object is accepted or was not sent. If both requests are refused, the server has another
// reason.
func (w *optionalTrial) judge(s *rules.Session, out *rules.Reporter) {
	for _, name := range w.order {
		bare, empty := w.bare[name], w.empty[name]
		code, _ := bare.Message.ErrorCode()
		switch {
		case isSuccess(bare.Message):
			out.MarkObserved(w.requirement)
			continue
		case empty != nil && !isSuccess(empty.Message):
			continue
		case hasServerRequestMeanwhile(s, bare):
			continue // the reason may be the client's response to that request
		case w.thing == "tool" && spec.Code(code) == spec.CodeInternal && !w.turns[name].areConclusive(s):
			continue // the reason may be a high load
		case empty == nil && spec.Code(code) != spec.CodeInvalidParams && spec.Code(code) != spec.CodeInvalidRequest:
			continue
		}
		d := deviationOf(w.requirement, bare)
		d.Summary = "The server refuses a " + w.thing + " that needs no arguments because they are missing."
		d.Permitted = "the same as for an empty object of arguments, {}"
		if empty != nil {
			d.At = rules.PositionsOf(empty.Request.Event, empty.Event, bare.Request.Event, bare.Event)
		} else {
			d.Weight = verdict.OnlyNote // there may be other reasons
		}
		out.Report(d)
	}
}

// hasServerRequestMeanwhile reports whether the server sent a request between the client's request
// and the response to it in obs.
func hasServerRequestMeanwhile(s *rules.Session, obs *rules.Observation) bool {
	return slices.ContainsFunc(s.ServerRequests(), func(p *transcript.Request) bool {
		return p.Event.Seq > obs.Request.Event.Seq && p.Event.Seq < obs.Event.Seq
	})
}

func isSuccess(m *wire.Message) bool { return !m.IsError() && !isFailedResult(m) }
