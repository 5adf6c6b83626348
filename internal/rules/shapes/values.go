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

// since reports whether the session is one of the handshake era whose handshake
// was seen, and its revision is first or a later one.
func since(s *rules.Session, first spec.Revision) bool {
	return s.Began() && s.Era() == spec.Handshake && s.Revision().AtLeast(first)
}

// text returns the string at a pointer, "" where there is none.
func text(v jsontext.Value, pointer string) string {
	s, _ := wire.Text(wire.At(v, pointer))
	return s
}

// isTrue reports whether the value at a pointer is true.
func isTrue(v jsontext.Value, pointer string) bool { return wire.At(v, pointer).Kind() == 't' }

// has reports whether an object has a member.
func has(v jsontext.Value, name string) bool { return wire.At(v, "/"+name) != nil }

// number returns the number that v is, and whether it is one of a size that
// can be reckoned with.
func number(v jsontext.Value) (*big.Rat, bool) {
	s := string(bytes.TrimSpace(v))
	_, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	if v.Kind() != '0' || len(s) > 400 || len(exponent) > 4 {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// maxCompared is the size in bytes up to which values are compared.
const maxCompared = 1 << 20

// areEqual reports whether two values are equal as JSON, numbers by their value as
// far as a float64 tells them apart.
func areEqual(a, b jsontext.Value) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}
