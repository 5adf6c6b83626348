package versioning

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// repeatedCase requests the same revision in two sessions of one process. Whether the server
// supports it must not depend on the client.
func repeatedCase() suite.Case {
	return suite.Case{
		ID:           "versioning.repeated",
		Title:        "Requests each older revision in two sessions of one process",
		Requirements: []string{sameVersion},
		OwnServer:    true,
		OnlyOver:     spec.StreamableHTTP,
		Run:          negotiateTwice,
	}
}

// negotiateTwice requests each revision other than that of the case in two sessions; the second
// only if the first session got that revision. It begins with the revisions that the server seems
// not to support, because the response to an earlier request may have depended on another client.
func negotiateTwice(ctx context.Context, t *suite.T) {
	if last := newestRevision(t.KnownRevisions); last != "" && t.Revision != last {
		t.MarkNotObserved(sameVersion, "judged once for all revisions, in "+string(last))
		return
	}
	var spoken, others []string
	for _, r := range spec.HandshakeRevisions() {
		switch {
		case r == t.Revision || !t.Transport.IsDefinedIn(r):
		case slices.Contains(t.KnownRevisions, r):
			spoken = append(spoken, string(r))
		default:
			others = append(others, string(r))
		}
	}
	for _, version := range append(others, spoken...) {
		first := initializeWith(ctx, t, version)
		if first.chose != version {
			continue
		}
		second := initializeWith(ctx, t, version)
		switch second.chose {
		case "":
		case version:
			t.MarkKept(sameVersion)
		default:
			t.Report(second.c, verdict.Deviation{
				Requirement: sameVersion,
				Summary:     "The server answers the same initialize with different versions.",
				Permitted:   "the requested version, which the server supports",
				Seen:        "the version " + wire.Excerpt(second.chose, 80) + "; the session before this one asked for " + version + " as well and got it",
				At:          transcript.Positions(second.r.Sent, second.r.Event),
			})
			return
		}
	}
}

// initializeOutcome is the outcome of an initialize.
type initializeOutcome struct {
	c     *client.Conversation
	r     *client.Reply
	chose string // "" if there was no result
}

func initializeWith(ctx context.Context, t *suite.T, version string) initializeOutcome {
	a := initializeOutcome{c: t.Open(ctx, client.Options{Version: version})}
	defer a.c.CloseIdle()
	if a.r = a.c.Initialize(ctx); a.r.Succeeded() {
		a.chose = a.c.Server().ProtocolVersion
	}
	return a
}
