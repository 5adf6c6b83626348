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

// repeated asks one process for the same revision in two sessions. Whether the
// server supports it can't change from one client to the next.
func repeated() suite.Case {
	return suite.Case{
		ID:           "versioning.repeated",
		Title:        "Requests each older revision in two sessions of one process",
		Requirements: []string{sameVersion},
		OwnServer:    true,
		Run:          suite.OnlyOver(spec.StreamableHTTP, askTwice),
	}
}

// askTwice begins with the revisions that the server seems not to speak: it may
// have been another client's turn when they were asked for.
func askTwice(ctx context.Context, t *suite.T) {
	if last := newest(t.Spoken); last != "" && t.Revision != last {
		t.NotObserved(sameVersion, "judged once for all revisions, in "+string(last))
		return
	}
	var spoken, others []string
	for _, r := range spec.HandshakeRevisions() {
		switch {
		case r == t.Revision || !t.Transport.DefinedIn(r):
		case slices.Contains(t.Spoken, r):
			spoken = append(spoken, string(r))
		default:
			others = append(others, string(r))
		}
	}
	for _, version := range append(others, spoken...) {
		first := answerTo(ctx, t, version)
		if first.chose != version {
			continue
		}
		second := answerTo(ctx, t, version)
		switch second.chose {
		case "":
		case version:
			t.Kept(sameVersion)
		default:
			t.Deviates(second.c, verdict.Deviation{
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

// answer is the outcome of an initialize.
type answer struct {
	c     *client.Conversation
	r     *client.Reply
	chose string // "" where there was no result
}

func answerTo(ctx context.Context, t *suite.T, version string) answer {
	a := answer{c: t.Open(ctx, client.Options{Version: version})}
	defer end(a.c)
	if a.r = a.c.Initialize(ctx); a.r.Succeeded() {
		a.chose = a.c.Server().ProtocolVersion
	}
	return a
}
