package wire_test

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestContainsFold checks that a text contains what a regular expression that ignores case finds.
func TestContainsFold(t *testing.T) {
	words := []string{"sk", "not found", "z", "å"}
	expression := regexp.MustCompile("(?i)sk|not found|z|å")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("sSkK\u017F\u212AnotNOT foundz\uFFFDßÅ"))).Draw(t, "text") + rapid.SampledFrom([]string{"", "NOT Found", "\xffſK"}).Draw(t, "end")
		if got, want := wire.ContainsFold(text, words...), expression.MatchString(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
}
