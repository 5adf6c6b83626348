package mcptest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSelected(t *testing.T) {
	for _, c := range []struct{ patterns, want []string }{
		{[]string{"base.parse-error"}, []string{"base.parse-error"}},
		{[]string{`^base\.parse`}, []string{"base.parse-error", "base.parse-error-http"}},
		{[]string{"^base.parse-error-", "ping.responds"}, []string{"base.parse-error-http", "ping.responds"}},
		{nil, nil},
	} {
		got, err := selectRequirements("TestSelected", c.patterns, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.patterns, diff)
		}
	}
}

// TestSubtestPattern checks which requirements -run selects below a test.
func TestSubtestPattern(t *testing.T) {
	for _, c := range []struct {
		run, test string
		selects   bool // whether ping.responds is judged
	}{
		{"", "TestA", true},
		{"TestA", "TestA", true},
		{"TestA/", "TestA", true},
		{"TestA/ping", "TestA", true},
		{"TestA/tools", "TestA", false},
		{"TestA/ping/deeper", "TestA", true},
		{"TestB/tools|TestA", "TestA", true},
		{"TestB/tools|TestA/ping", "TestA", true},
		{"TestA/tools|TestA/ping", "TestA", true},
		{"TestA/tools|TestB/ping", "TestA", false},
		{"TestA/tools|ping", "TestA", false},
		{"TestA/(tools|ping)", "TestA", true},
		{"TestA/[/p]ing", "TestA", true},
		{`TestA/ping\|tools`, "TestA", false},
		{"TestA/sub/ping", "TestA/sub", true},
		{"TestA/sub/tools", "TestA/sub", false},
		{"TestA/of a name/ping", "TestA/of_a_name", true},
		{"TestA/sub", "TestA/sub", true},
		{"TestA/other/tools|TestA/sub/ping", "TestA/sub", true},
	} {
		pattern, err := subtestPattern(c.run, c.test)
		if err != nil {
			t.Fatal(err)
		}
		if got := pattern == nil || pattern.MatchString("ping.responds"); got != c.selects {
			t.Errorf("-run %q in %s selects ping.responds: %v", c.run, c.test, got)
		}
	}
}
