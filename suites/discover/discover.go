// Package discover checks server/discover, with which a client of the stateless era learns what a
// server supports.
package discover

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const listedWork = "discover.listed-versions-work"

// Cases returns the cases of the area discover.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:    "discover.offer",
			Title: "Sends server/discover twice, and requests the lists, those of undeclared capabilities included",
			Provokes: []string{
				"discover.implemented", "discover.result-schema", "discover.supported-versions", "discover.capabilities", "discover.server-info",
				"discover.independent-of-connection", "versioning.extension-id-format",
			},
			SharesConversation: true,
			Run: func(ctx context.Context, t *suite.T) {
				c := t.Conversation(ctx)
				c.Do(ctx, spec.MethodDiscover, nil)
				for _, method := range append(t.DeclaredLists(), t.UndeclaredLists()...) {
					c.Do(ctx, method, nil)
				}
				c.Do(ctx, spec.MethodDiscover, nil)
			},
		},
		{
			ID:           "discover.listed-versions",
			Title:        "Sends initialize with each handshake revision that server/discover lists, to a fresh server each",
			Requirements: []string{listedWork},
			Run:          useListedVersions,
		},
	}
}

// useListedVersions requests each listed handshake revision in the first message of a connection,
// because a server may decide by that message which era the connection uses.
func useListedVersions(ctx context.Context, t *suite.T) {
	listed := t.SupportedVersions(spec.Handshake)
	if len(listed) == 0 {
		t.MarkNotObserved(listedWork, "server/discover lists only the version in use")
		return
	}
	for _, version := range listed {
		if !t.Transport.IsDefinedIn(spec.Revision(version)) {
			continue
		}
		c := t.Open(ctx, client.Options{})
		params := c.InitializeParams()
		params["protocolVersion"], params["capabilities"] = version, client.AllCapabilities(spec.Revision(version))
		id := c.NewID()
		r := c.DoRaw(ctx, id, wire.NewRequest(id, spec.MethodInitialize, params))
		judgeInitialize(t, c, version, r)
		c.Close() // some servers tolerate no second instance of themselves
	}
}

func judgeInitialize(t *suite.T, c *client.Conversation, version string, r *client.Reply) {
	permitted := "a result with version " + version
	if t.Expect(c, r).Keeps(listedWork, "The server refuses a version that server/discover lists.", suite.Satisfy(permitted, (*client.Reply).Succeeded)) {
		t.Expect(c, r).Keeps(listedWork, "The server answers a version that server/discover lists with another one.",
			suite.Satisfy(permitted, func(r *client.Reply) bool {
				chosen, _ := wire.Text(wire.At(r.Message.Result(), "/protocolVersion"))
				return chosen == version
			}))
	}
}
