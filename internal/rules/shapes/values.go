package shapes

import (
	"bytes"
	"math/big"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// isGovernedByRevision reports whether the revision by which the conversation is judged applies to
// a message of the server. In the handshake era, the message must come after the result of
// initialize. In the stateless era, Versions.IsGovernedByRevision decides; a server request must
// also be an entry of inputRequests, because the era has no other server requests.
func isGovernedByRevision(s *rules.Session, obs *rules.Observation) bool {
	if s.Era() == spec.Handshake {
		return s.Began()
	}
	return (obs.ServerRequest == nil || obs.InputKey != nil) && s.IsGovernedByRevision(obs)
}

// stringAt returns the string at a pointer, "" if there is none.
func stringAt(v jsontext.Value, pointer string) string {
	s, _ := wire.Text(wire.At(v, pointer))
	return s
}

// isTrue reports whether the value at a pointer is true.
func isTrue(v jsontext.Value, pointer string) bool { return wire.At(v, pointer).Kind() == 't' }

// hasMember reports whether an object has a member.
func hasMember(v jsontext.Value, name string) bool { return wire.At(v, "/"+name) != nil }

// parseNumber returns the value of v, and whether it is a number of a manageable size.
func parseNumber(v jsontext.Value) (*big.Rat, bool) {
	s := string(bytes.TrimSpace(v))
	_, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	if v.Kind() != '0' || len(s) > 400 || len(exponent) > 4 {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// maxCompared is the maximum size, in bytes, of a result whose structured content is compared with
// its text.
const maxCompared = 1 << 20

// areEqual reports whether two values are equal as JSON. Numbers are equal if their float64
// values are.
func areEqual(a, b jsontext.Value) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}
