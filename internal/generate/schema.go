package generate

import (
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Schema is a JSON Schema, of draft-07 or 2020-12, from which instances are
// drawn.
type Schema struct {
	document
	raw       jsontext.Value
	validator *schema.Validator
}

// NewSchema parses a schema of a server that speaks revision r. A schema that
// can't be parsed has no instances.
func NewSchema(raw jsontext.Value, r spec.Revision) *Schema {
	return &Schema{document: document{decode(raw)}, raw: raw, validator: schema.For(r)}
}

// Refuses reports whether the validator rejects the value.
func (s *Schema) Refuses(v any) bool {
	return len(s.validator.CheckStructuredContent(s.raw, wire.JSON(v))) > 0
}

// maxAttempts is the number of attempts to draw a valid value.
const maxAttempts = 4

// Instance is a value drawn from a schema.
type Instance struct {
	Value jsontext.Value
	// Violates is the one keyword that the value violates. At is the position of the violation in
	// the value. Both are empty for a valid value.
	Violates, At string
	// OK is true if a value was drawn and the validator agrees: it accepts a valid value, and
	// rejects one that violates a keyword.
	OK bool
}

// Valid draws a valid instance of the schema.
func (s *Schema) Valid() *rapid.Generator[Instance] {
	return rapid.Custom(func(t *rapid.T) Instance {
		drawUnused(t)
		if v, ok := s.drawValid(t); ok {
			return Instance{Value: wire.JSON(v), OK: true}
		}
		return Instance{}
	})
}

func (s *Schema) drawValid(t *rapid.T) (any, bool) {
	for range maxAttempts {
		if v, err := s.value(s.root, drawnChoices{t}); err == nil && !s.Refuses(v) {
			return v, true
		}
	}
	return nil, false
}
