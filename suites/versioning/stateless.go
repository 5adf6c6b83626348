package versioning

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	perRequest    = "versioning.per-request"
	dualEraModern = "versioning.dual-era-modern-request"
)

// almostVersions are versions that a server accepts if it looks at the year alone, or only at
// whether the version is later than its own. The first is a day that does not exist, so that it can
// never be a revision.
var almostVersions = []string{"2026-12-32", "9999-12-31"}

// statelessCases returns the cases of the stateless era.
func statelessCases() []suite.Case {
	return []suite.Case{
		{
			ID:           "versioning.per-request-versions",
			Title:        "Sends requests of the revision, of versions that do not exist, and of handshake revisions in turn",
			Requirements: []string{perRequest, dualEraModern},
			Provokes: []string{
				"versioning.unsupported-version-error", "versioning.unsupported-version-supported-list", "versioning.supported-list-consistent",
				"versioning.unsupported-version-http-400", "versioning.known-legacy-version-in-meta",
			},
			SharesConversation: true,
			Run:                alternateVersions,
		},
	}
}

// alternateVersions alternates requests with different versions, because each response must depend
// only on the version of its request.
func alternateVersions(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	send := func(method, version string) *client.Reply {
		return c.Do(ctx, method, map[string]any{"_meta": map[string]any{spec.MetaVersion: version}})
	}
	methods := append([]string{spec.MethodDiscover}, t.DeclaredLists()...)
	for _, method := range methods[:min(len(methods), 2)] {
		supported := []*client.Reply{c.Do(ctx, method, nil)}
		unknown := []*client.Reply{send(method, ancient)}
		supported = append(supported, c.Do(ctx, method, nil))
		unknown = append(unknown, send(method, ancient))
		supported = append(supported, c.Do(ctx, method, nil))
		judgeTurns(t, c, supported, unknown)
		if t.SpeaksHandshake() && supported[0].Succeeded() {
			judgeModern(t, c, supported[0])
		}
	}
	last := methods[min(len(methods), 2)-1]
	for _, version := range almostVersions {
		send(last, version)
	}
	send(spec.MethodDiscover, "not-a-version")
	for _, r := range spec.HandshakeRevisions() {
		send(spec.MethodDiscover, string(r))
	}
}

// judgeTurns judges whether the responses to equal requests, sent in turns with a supported and
// with an unknown version, stay the same.
func judgeTurns(t *suite.T, c *client.Conversation, supported, unknown []*client.Reply) {
	for _, r := range slices.Concat(supported, unknown) {
		if !r.Answered() || r.Busy() {
			t.MarkNotObserved(perRequest, "the server did not answer a request")
			return
		}
	}
	if !supported[0].Succeeded() || unknown[0].Succeeded() {
		t.MarkNotObserved(perRequest, "the server treats the two versions alike")
		return
	}
	for i, r := range supported[1:] {
		assertion := t.Expect(c, r, supported[i].Sent, supported[i].Event, unknown[i].Sent, unknown[i].Event)
		if !assertion.Keeps(perRequest, "The server refuses its version after a request of another one.", suite.BeResult()) {
			return
		}
	}
	t.Expect(c, unknown[1], unknown[0].Sent, unknown[0].Event).Keeps(perRequest, "The server serves an unknown version that it refused before.", suite.BeAnyError())
}

// judgeModern judges a result of a server that also supports handshake revisions.
func judgeModern(t *suite.T, c *client.Conversation, r *client.Reply) {
	t.Expect(c, r).Keeps(dualEraModern, "The server answers a 2026-07-28 request as in an older revision.",
		suite.Satisfy("a result with resultType, as the version in _meta requires", func(r *client.Reply) bool {
			return wire.At(r.Message.Result(), "/resultType") != nil || wire.At(r.Message.Result(), "/ttlMs") != nil
		}))
}
