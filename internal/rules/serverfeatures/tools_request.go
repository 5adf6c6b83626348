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

// toolRequests judges the form of calls.
func toolRequests() rules.Fold {
	bare := &optionalTrial{requirement: toolArgumentsOptional, thing: "tool"}
	hear := func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		b := catalogs.Of(s)
		if !isRegular(s, obs) || !s.ServerDeclared("tools") {
			return
		}
		_, params := wire.Members(obs.Request.Message.Params())
		name, named := wire.Text(params["name"])
		arguments := params["arguments"]
		switch {
		case !named || arguments != nil && arguments.Kind() != '{':
			if out.IsInterpretable(obs, b.anyCall(s), toolMalformed) {
				judgeMalformedCall(obs, out)
			}
		case params["task"] == nil && requiresNothing(s.Revision(), b.tools.seen[name]):
			bare.note(name, arguments, obs)
		}
	}
	return rules.Fold{
		Shared:    readsCatalog,
		OnMessage: rules.Handlers{rules.ResultOf(spec.MethodToolsCall): hear, rules.ErrorTo(spec.MethodToolsCall): hear},
		AtEnd:     func(s *rules.Session, out *rules.Reporter) { bare.judge(s, out) },
	}
}

// validCall is a call of the tool with arguments that fit its schema.
func (b *catalog) validCall(s *rules.Session, name string) rules.Control {
	return rules.Control{
		What:    "a call of " + rules.Excerpt(wire.Quote(name)) + " with valid arguments",
		Matches: func(req *rules.Request) bool { return b.isValidCall(s, req, name) },
	}
}

// anyCall is a call of a listed tool with arguments that fit its schema, for
// odd calls that name no tool, or one that is not listed. A server whose tools
// must not be called shows by its list that it knows its tools.
func (b *catalog) anyCall(s *rules.Session) rules.Control {
	return rules.Control{
		What: "a call of a listed tool with valid arguments", ByName: true,
		Matches:  func(req *rules.Request) bool { return b.isValidCall(s, req, "") },
		Fallback: func(req *rules.Request) bool { return req.Message.Method == spec.MethodToolsList },
	}
}

// isValidCall reports whether a is a call of the named tool, or with "" of any
// that is listed, with arguments that fit.
func (b *catalog) isValidCall(s *rules.Session, req *rules.Request, name string) bool {
	if req.Message.Method != spec.MethodToolsCall {
		return false
	}
	_, params := wire.Members(req.Message.Params())
	called, _ := wire.Text(params["name"])
	if name != "" && called != name || params["task"] != nil || b.tools.seen[called] == nil {
		return false
	}
	arguments := params["arguments"]
	if arguments == nil {
		return requiresNothing(s.Revision(), b.tools.seen[called])
	}
	input := wire.At(b.tools.seen[called], "/inputSchema")
	return input.Kind() == '{' && arguments.Kind() == '{' && acceptsArguments(s.Revision(), input, arguments)
}

func judgeMalformedCall(obs *rules.Observation, out *rules.Reporter) {
	if obs.Message.IsError() {
		out.CameUp(toolMalformed)
		return
	}
	d := deviationOf(toolMalformed, obs)
	d.Summary, d.Permitted = "The server serves a malformed tools/call.", "an error, usually with code -32602"
	if isFailedResult(obs.Message) {
		d.Summary = "The server refuses a malformed tools/call in a result, not an error."
		d.Weight = verdict.OnlyNote
	}
	out.Deviates(d)
}

// requiresNothing reports whether a tool, as listed, takes no arguments at all.
func requiresNothing(r spec.Revision, tool jsontext.Value) bool {
	input := wire.At(tool, "/inputSchema")
	return input.Kind() == '{' && len(wire.Elements(wire.At(input, "/required"))) == 0 && acceptsArguments(r, input, jsontext.Value("{}"))
}

// acceptsArguments reports whether nothing speaks against arguments in a tool's schema.
func acceptsArguments(r spec.Revision, input, arguments jsontext.Value) bool {
	return len(schema.For(r).Structured(input, arguments)) == 0
}

// optionalTrial compares the results of requests without arguments with those of requests with
// none in an object.
type optionalTrial struct {
	requirement string
	thing       string
	order       []string
	bare, empty map[string]*rules.Observation // by name, the first of each
}

func (w *optionalTrial) note(name string, arguments jsontext.Value, obs *rules.Observation) {
	if w.bare == nil {
		w.bare, w.empty = map[string]*rules.Observation{}, map[string]*rules.Observation{}
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
}

// judge finds what was refused without arguments, and served with an empty
// object or never tried so. What is refused either way has other reasons.
func (w *optionalTrial) judge(s *rules.Session, out *rules.Reporter) {
	for _, name := range w.order {
		bare, empty := w.bare[name], w.empty[name]
		code, _ := bare.Message.ErrorCode()
		switch {
		case isSuccess(bare.Message):
			out.CameUp(w.requirement)
			continue
		case empty != nil && !isSuccess(empty.Message):
			continue
		case hasServerRequestMeanwhile(s, bare), w.thing == "tool" && spec.Code(code) == spec.CodeInternal:
			continue // it may hang on what the client said, or on how much there was to do
		case empty == nil && spec.Code(code) != spec.CodeInvalidParams && spec.Code(code) != spec.CodeInvalidRequest:
			continue
		}
		d := deviationOf(w.requirement, bare)
		d.Summary = "The server refuses a " + w.thing + " without arguments that needs none."
		d.Permitted = "the same as for an empty object of arguments"
		if empty != nil {
			d.At = rules.At(bare.Request.Event, bare.Event, empty.Request.Event, empty.Event)
		} else {
			d.Weight = verdict.OnlyNote // there may be other reasons
		}
		out.Deviates(d)
	}
}

// hasServerRequestMeanwhile reports whether the server had a question while it worked on the
// request.
func hasServerRequestMeanwhile(s *rules.Session, obs *rules.Observation) bool {
	return slices.ContainsFunc(s.ServerRequests(), func(p *transcript.Request) bool {
		return p.Event.Seq > obs.Request.Event.Seq && p.Event.Seq < obs.Event.Seq
	})
}

func isSuccess(m *wire.Message) bool { return !m.IsError() && !isFailedResult(m) }
