package lifecycle

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// listMethods are the list methods with their capabilities.
var listMethods = []struct{ capability, method string }{
	{"tools", spec.MethodToolsList},
	{"prompts", spec.MethodPromptsList},
	{"resources", spec.MethodResourcesList},
	{"resources", spec.MethodResourcesTemplates},
}

// useDeclaredLists sends ping and the list methods of the declared capabilities. The server was
// alive when the conversation began. If a write fails, the server has ended since, which counts as
// a failure.
func useDeclaredLists(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	methods := []string{spec.MethodPing}
	for _, list := range listMethods {
		// A server without templates may lack their method; the resources area
		// judges that.
		if list.method != spec.MethodResourcesTemplates && c.Server().Declares(list.capability) {
			methods = append(methods, list.method)
		}
	}
	for _, method := range methods {
		r := c.Do(ctx, method, nil)
		switch {
		case hasEndedInstead(ctx, c, r):
			reportDeviation(t, c, r, serves, "The server exits after initialized.", "normal operation")
			return
		case ctx.Err() != nil || r.Sent == nil:
			t.GiveUp("mcp-conform could not send " + method + " or wait for its response")
		case method == spec.MethodPing:
			if r.Succeeded() {
				t.MarkKept(serves) // otherwise ping.responds reports it
			}
		case !r.Answered():
			reportDeviation(t, c, r, serves, "The server does not answer a declared list after initialized.", "a result")
			return // each of the others would cost the same wait
		default:
			t.Expect(c, r).ShowDeclared().Keeps(serves, "The server refuses a declared list after initialized.", suite.BeResult())
		}
	}
}

func useUndeclaredLists(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	asked := false
	for _, list := range listMethods {
		if c.Server().Declares(list.capability) {
			continue
		}
		asked = true
		r := c.Do(ctx, list.method, nil)
		if !t.CanInterpret(suite.NewOddReply(r, c.Do(ctx, c.HarmlessMethod(), nil)), undeclared) {
			continue
		}
		answer := t.Expect(c, r).ShowDeclared()
		permitted := "the capability " + list.capability + " in the result of initialize, or an error to " + list.method
		if answer.Keeps(undeclared, "The server serves a method without declaring its capability.",
			suite.Satisfy(permitted, func(r *client.Reply) bool { return r.Message.IsError() })) {
			answer.Keeps(undeclared, "The server refuses an undeclared method, but not with -32601.",
				suite.BeErrorFor(spec.UnknownMethod, t.Revision), verdict.OnlyNote)
		}
	}
	if !asked {
		t.MarkNotApplicable(undeclared, "the server declares tools, prompts and resources")
	}
}
