package base

import (
	"context"
	"errors"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	paramsHandshake = "base.invalid-params-2024-11-05"
	paramsStateless = "base.invalid-params-2026-07-28"
)

// paramsRequirement returns the requirement on invalid params in revision r.
func paramsRequirement(r spec.Revision) string {
	if r.Era() == spec.Stateless {
		return paramsStateless
	}
	return paramsHandshake
}

// badParams are requests with a missing or mistyped required param. None of them names a tool to
// call.
var badParams = []struct {
	capability, method string
	params             map[string]any
}{
	{"tools", spec.MethodToolsCall, nil},
	{"tools", spec.MethodToolsCall, map[string]any{"arguments": map[string]any{}}},
	{"tools", spec.MethodToolsCall, map[string]any{"name": 5, "arguments": map[string]any{}}},
	{"prompts", spec.MethodPromptsGet, nil},
	{"prompts", spec.MethodPromptsGet, map[string]any{"arguments": map[string]any{}}},
	{"prompts", spec.MethodPromptsGet, map[string]any{"name": 5}},
	{"resources", spec.MethodResourcesRead, nil},
	{"resources", spec.MethodResourcesRead, map[string]any{}},
	{"resources", spec.MethodResourcesRead, map[string]any{"uri": 5}},
}

func invalidParamsCase() suite.Case {
	return suite.Case{
		ID:                 "errors.invalid-params",
		Title:              "Sends requests without a required param, or with one of the wrong type",
		Requirements:       []string{paramsHandshake, paramsStateless},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			declared := c.Server()
			unanswered := map[string]bool{} // methods that got no response, and are not requested again
			asked := 0
			for _, b := range badParams {
				if !declared.Declares(b.capability) || unanswered[b.method] {
					continue
				}
				if !c.Alive() {
					c = t.Conversation(ctx)
				}
				asked++
				for o := range t.Probe(ctx, c, suite.Probe{Control: t.OrdinaryRequest(b.method), Odd: suite.OddParams(b.method, b.params), ByName: true}) {
					unanswered[b.method] = !o.Answered()
					if t.CanInterpret(o, paramsRequirement(t.Revision)) {
						judgeParams(t, c, o.Reply)
					}
				}
			}
			if asked == 0 {
				t.MarkNotApplicable(paramsRequirement(t.Revision), "the server declares no feature whose requests have required params")
			}
		},
	}
}

func invalidInitializeCase() suite.Case {
	return suite.Case{
		ID:           "errors.invalid-initialize",
		Title:        "Sends initialize with empty params, then with a version that is not a string",
		Requirements: []string{paramsHandshake},
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Open(ctx, client.Options{})
			mistyped := c.InitializeParams()
			mistyped["protocolVersion"] = 5
			r := c.Do(ctx, spec.MethodInitialize, map[string]any{})
			judgeParams(t, c, r)
			if !r.Answered() || r.Succeeded() || !c.Alive() {
				c = t.Open(ctx, client.Options{}) // the second initialize must not follow one that had an effect
			}
			judgeParams(t, c, c.Do(ctx, spec.MethodInitialize, mistyped))
		},
	}
}

// judgeParams judges the response to a request with invalid params. Unless the revision says
// MUST, any error passes, and an unusual code is noted.
func judgeParams(t *suite.T, c *client.Conversation, r *client.Reply) {
	requirement := paramsRequirement(t.Revision)
	d := verdict.Deviation{
		Requirement: requirement,
		Permitted:   "an error, usually with code -32602",
		Seen:        suite.Describe(r),
		At:          r.Positions(),
	}
	if t.Revision.Era() == spec.Stateless {
		d.Permitted = "error -32602"
	}
	code, isError := int64(0), false
	if r.Answered() && r.Message.IsError() {
		code, _ = r.Message.ErrorCode()
		isError = true
	}
	switch {
	case errors.Is(r.Err, client.ErrEnded):
		d.Summary = "The server exits at a missing or mistyped parameter."
	case !r.Answered():
		t.MarkNotObserved(requirement, "the server did not answer the request")
		return
	case r.Busy():
		t.MarkNotObserved(requirement, "the server was too busy for the request")
		return
	case isError && spec.Code(code) == spec.CodeHeaderMismatch && c.Web() != nil:
		t.MarkNotObserved(requirement, "the server refused the headers: a request without the parameter has no Mcp-Name")
		return
	case isError && spec.IsCodeFor(spec.BadParams, t.Revision, spec.Code(code)):
		t.MarkKept(requirement)
		return
	case isError:
		d.Summary = "The server refuses a missing or mistyped parameter, but not with -32602."
		if t.Revision.Era() == spec.Handshake {
			d.Weight = verdict.OnlyNote
		}
	case isToolError(r):
		d.Summary = "The server refuses a missing or mistyped parameter in a tool result."
		d.Weight = verdict.OnlyNote
	default:
		d.Summary = "The server serves a request with a missing or mistyped parameter."
	}
	t.Report(c, d)
}

// isToolError reports whether a tool result has isError set.
func isToolError(r *client.Reply) bool {
	return string(wire.At(r.Message.Result(), "/isError")) == "true"
}
