package lazyregexp_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
)

// TestSameAsRegexp checks that each method returns what that of regexp.Regexp returns.
func TestSameAsRegexp(t *testing.T) {
	const expression, text = `([a-z])([0-9]+)`, "a1 b22 -"
	lazy, eager := lazyregexp.New(expression), regexp.MustCompile(expression)
	double := func(s string) string { return s + s }
	doubled := func(b []byte) []byte { return []byte(double(string(b))) }
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"String", lazy.String(), eager.String()},
		{"Match", lazy.Match([]byte(text)), eager.Match([]byte(text))},
		{"MatchString", lazy.MatchString("-"), eager.MatchString("-")},
		{"FindString", lazy.FindString(text), eager.FindString(text)},
		{"FindSubmatch", lazy.FindSubmatch([]byte(text)), eager.FindSubmatch([]byte(text))},
		{"FindStringSubmatch", lazy.FindStringSubmatch(text), eager.FindStringSubmatch(text)},
		{"FindAllString", lazy.FindAllString(text, 1), eager.FindAllString(text, 1)},
		{"FindAllStringSubmatch", lazy.FindAllStringSubmatch(text, -1), eager.FindAllStringSubmatch(text, -1)},
		{"ReplaceAll", lazy.ReplaceAll([]byte(text), []byte("$2")), eager.ReplaceAll([]byte(text), []byte("$2"))},
		{"ReplaceAllFunc", lazy.ReplaceAllFunc([]byte(text), doubled), eager.ReplaceAllFunc([]byte(text), doubled)},
		{"ReplaceAllString", lazy.ReplaceAllString(text, "$1"), eager.ReplaceAllString(text, "$1")},
		{"ReplaceAllStringFunc", lazy.ReplaceAllStringFunc(text, double), eager.ReplaceAllStringFunc(text, double)},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-regexp +lazyregexp):\n%s", c.name, diff)
		}
	}
}

// TestInvalidExpressionsAreFoundInTests checks that a test need not use an expression to find that
// it is invalid.
func TestInvalidExpressionsAreFoundInTests(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an invalid expression was accepted")
		}
	}()
	lazyregexp.New("(")
}
