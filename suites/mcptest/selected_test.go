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
		got, err := selected("TestSelected", c.patterns, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.patterns, diff)
		}
	}
}
