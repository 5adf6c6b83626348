package spec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// TestServerNeeds checks that only what a server declares counts as a need of it.
func TestServerNeeds(t *testing.T) {
	for _, c := range []struct{ needs, want []string }{
		{nil, nil},
		{[]string{"tools"}, []string{"tools"}},
		{[]string{"sampling", "resources.subscribe", "elicitation.url"}, []string{"resources.subscribe"}},
	} {
		q := &spec.Requirement{Needs: c.needs}
		if diff := cmp.Diff(c.want, q.ServerNeeds()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.needs, diff)
		}
	}
}
