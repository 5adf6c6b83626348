package logging

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const noSecrets = "logging.no-secrets"

// findSecrets sends made-up credentials to a server that requires none, makes it log, and looks for
// these credentials in the server's messages. Only the owner of the server can say what else is a
// secret.
func findSecrets(ctx context.Context, t *suite.T) {
	tool, ok := t.Inventory.LoggingCall()
	if !ok {
		t.Skip("no tool that is known to log may be called")
	}
	c := t.Start(ctx, client.Options{})
	if name := suite.IdentifyingHeader(c); name != "" {
		t.GiveUp("every request carries the user's own credentials, in the header " + name)
	}
	params := tool.Params()
	if c.Revision().Era() == spec.Stateless {
		params = withLevel(params, "debug")
	} else {
		setLevel(ctx, c, "debug")
	}
	secret := "mcp-conform-" + rand.Text()
	x := t.Web(c).RoundTrip(ctx, suite.WebRequest{
		Body:    c.Request(c.NewID(), spec.MethodToolsCall, params),
		Headers: []suite.Header{suite.WithHeader("Authorization", "Bearer "+secret)},
	})
	t.Fence(ctx, c)
	if x == nil || x.Request == nil {
		t.GiveUp("mcp-conform could not call the tool")
	}
	logged := false
	for _, e := range c.Record.From(x.Request.Seq) {
		if e.Kind != transcript.Received || !suite.HasMessage(e, func(m *wire.Message) bool { return m.Method == spec.MethodMessage }) {
			continue
		}
		if logged = true; strings.Contains(string(e.Raw), secret) {
			t.Report(c, verdict.Deviation{
				Requirement: noSecrets,
				Summary:     "The server logs the bearer token of a request.",
				Permitted:   "log messages without credentials",
				Seen:        "the token of the call, in: " + wire.Excerpt(string(e.Raw), 200),
				At:          []int{x.Request.Seq, e.Seq},
			})
			return
		}
	}
	if logged {
		t.MarkKept(noSecrets)
	}
}
