package mrtr

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// retryAsOtherUser retries a request of the first user, with its state, as the second user. A
// completed retry is reported only if the second user's retries without a state and with a changed
// state do not complete. That shows that the server protects the integrity of the state, and only a
// protected state has to name its user. The requirement is kept only if the first user's own retry
// completes.
func retryAsOtherUser(ctx context.Context, t *suite.T) {
	c := t.Start(ctx, acceptingClientOptions(t))
	u := t.OtherUser(ctx, c)
	defer u.Leave(ctx)
	seen := false
	for _, a := range findAskingRequests(ctx, t, c) {
		next, ok := a.begin(ctx)
		state, hasState := stateOf(next)
		if !ok || !hasState {
			continue
		}
		send := func(params map[string]any) *suite.OutsideResponse {
			return u.Post(ctx, c.Request(c.NewID(), a.Method, params))
		}
		if isComplete(send(withoutMember(next, "requestState"))) {
			continue
		}
		foreign := send(next)
		if isComplete(foreign) {
			if tryForgedRetries(ctx, a, state, send) {
				continue
			}
			t.Report(c, verdict.Deviation{
				Requirement: statePrincipal, Summary: "The server accepts the requestState of one user from another.",
				Permitted: "an error, or input that is required again", Seen: foreign.About + " got " + foreign.Describe(), At: []int{foreign.At},
			})
			return
		}
		seen = seen || isCompleteResult(a.send(ctx, next))
	}
	if !seen {
		t.GiveUp("the server completed no retry of the first user with a requestState")
	}
	t.MarkKept(statePrincipal)
}

// isComplete reports whether an answer is a complete result in which nothing failed.
func isComplete(a *suite.OutsideResponse) bool {
	kind, _ := wire.Text(wire.At(a.Result(), "/resultType"))
	return kind == "complete" && string(wire.At(a.Result(), "/isError")) != "true"
}

// tryForgedRetries reports whether a retry with a changed state is completed.
func tryForgedRetries(ctx context.Context, a inputRequest, state string, send func(params map[string]any) *suite.OutsideResponse) bool {
	for _, params := range a.forgedRetries(ctx, state, forgeries) {
		if isComplete(send(params)) {
			return true
		}
	}
	return false
}
