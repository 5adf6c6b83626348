package redact

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPartsAreInAllThatMatches draws texts that match a shape, and checks that each
// contains one of the shape's parts: otherwise the secret would be missed.
func TestPartsAreInAllThatMatches(t *testing.T) {
	shapes := append(slices.Clone(pairShapes), tokenShape, jwtShape, schemeShape, userShape, headerShape, bearerShape)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(shapes).Draw(t, "shape")
		text := rapid.StringMatching(s.String()).Draw(t, "text")
		if s.MatchString(text) && !s.mayMatch(bytes.ToLower([]byte(text))) {
			t.Fatalf("%q matches %s, and holds none of %q", text, s, s.parts)
		}
	})
}
