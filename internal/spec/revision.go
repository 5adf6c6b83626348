// Package spec contains facts about the Model Context Protocol specification:
// revisions, methods, error codes and the requirement catalogue. It judges no
// server.
package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Revision is the date that identifies a version of the specification.
type Revision string

// The published revisions, oldest first.
const (
	V20241105 Revision = "2024-11-05"
	V20250326 Revision = "2025-03-26"
	V20250618 Revision = "2025-06-18"
	V20251125 Revision = "2025-11-25"
	V20260728 Revision = "2026-07-28"
)

// NewestHandshake is the newest revision that opens with initialize.
const NewestHandshake = V20251125

// An Era is the way in which client and server agree on version and capabilities.
type Era int

// The eras.
const (
	// Handshake revisions open with initialize and keep a session.
	Handshake Era = iota
	// Stateless revisions carry version and capabilities in every request.
	Stateless
)

// Revisions returns all published revisions, oldest first.
func Revisions() []Revision {
	return []Revision{V20241105, V20250326, V20250618, V20251125, V20260728}
}

// HandshakeRevisions returns the revisions that open with initialize, oldest first.
func HandshakeRevisions() []Revision { return RevisionsInEra(Handshake, Revisions()) }

// StatelessRevisions returns the revisions of the stateless era, oldest first.
func StatelessRevisions() []Revision { return RevisionsInEra(Stateless, Revisions()) }

// RevisionsInEra returns those of the revisions that belong to the era.
func RevisionsInEra(era Era, revisions []Revision) []Revision {
	return slices.DeleteFunc(slices.Clone(revisions), func(r Revision) bool { return r.Era() != era })
}

// Era returns the era of r. An unknown revision is compared as text: it counts as handshake if it
// sorts before 2026-07-28, otherwise as stateless.
func (r Revision) Era() Era {
	if r.AtLeast(V20260728) {
		return Stateless
	}
	return Handshake
}

// OpeningMethod returns the method of a client's first request in r.
func (r Revision) OpeningMethod() string {
	if r.Era() == Stateless {
		return MethodDiscover
	}
	return MethodInitialize
}

// IsPublished reports whether r names a published revision.
func (r Revision) IsPublished() bool { return slices.Contains(Revisions(), r) }

// AtLeast reports whether r is the revision other or a newer one. Revisions are compared as text.
func (r Revision) AtLeast(other Revision) bool { return r >= other }

// HasBatches reports whether JSON-RPC batches exist in r.
func (r Revision) HasBatches() bool { return r == V20250326 }

// HasEmptyCursors reports whether an empty string is a cursor like any other in r. Before
// 2026-07-28 the specification does not say so, and many servers mark the last page with an
// empty cursor.
func (r Revision) HasEmptyCursors() bool { return r.AtLeast(V20260728) }

// HasVersionHeader reports whether clients over Streamable HTTP name the revision in the header
// MCP-Protocol-Version.
func (r Revision) HasVersionHeader() bool { return r.AtLeast(V20250618) }

// HasCompletionsCapability reports whether servers declare completion as a capability. 2024-11-05
// has completion without a capability.
func (r Revision) HasCompletionsCapability() bool { return r.AtLeast(V20250326) }

// HasCompletionContext reports whether a completion request can have the values of other arguments.
func (r Revision) HasCompletionContext() bool { return r.AtLeast(V20250618) }

// HasSamplingTools reports whether sampling can have tools, and several content blocks in a
// message.
func (r Revision) HasSamplingTools() bool { return r.AtLeast(V20251125) }

// HasTasks reports whether r itself has tasks. In 2026-07-28 they are an extension.
func (r Revision) HasTasks() bool { return r == V20251125 }

// HasDefaultDialect reports whether r defines the dialect of JSON Schemas without $schema, which
// is then 2020-12.
func (r Revision) HasDefaultDialect() bool { return r.AtLeast(V20251125) }

// NewestFirst returns a sorted copy of the revisions, the newest first.
func NewestFirst[R ~string](revisions []R) []R {
	return slices.SortedFunc(slices.Values(revisions), func(a, b R) int { return cmp.Compare(b, a) })
}

// ParseRevision returns the revision named s, or an error that lists the
// published revisions.
func ParseRevision(s string) (Revision, error) {
	if r := Revision(s); r.IsPublished() {
		return r, nil
	}
	names := make([]string, 0, len(Revisions()))
	for _, r := range Revisions() {
		names = append(names, string(r))
	}
	return "", fmt.Errorf("%q is not a published revision; known are %s", s, strings.Join(names, ", "))
}

// A Transport is a transport that the specification defines.
type Transport string

// The transports.
const (
	Stdio          Transport = "stdio"
	StreamableHTTP Transport = "streamable-http"
	SSE            Transport = "sse"
)

// Transports returns all transports.
func Transports() []Transport { return []Transport{Stdio, StreamableHTTP, SSE} }

// IsSubjectOf reports whether the requirement is about the transport itself, such as how HTTP+SSE
// announces its endpoint, rather than about messages over any transport. The area of such
// requirements is named after the transport.
func (t Transport) IsSubjectOf(requirement string) bool { return AreaOf(requirement) == string(t) }

// IsDefinedIn reports whether revision r defines the transport. Only 2024-11-05 defines HTTP+SSE;
// all revisions since 2025-03-26 define Streamable HTTP; all define stdio (basic/transports of
// each revision).
func (t Transport) IsDefinedIn(r Revision) bool {
	switch t {
	case StreamableHTTP:
		return r.AtLeast(V20250326)
	case SSE:
		return r == V20241105
	default:
		return true
	}
}
