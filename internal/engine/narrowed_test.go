package engine_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// TestNarrowedRuns checks that a selection that limits what rules see leads to
// a notice.
func TestNarrowedRuns(t *testing.T) {
	other := pinging(true)
	other.ID, other.Provokes = "toy.provokes", []string{"base.request-answered"}
	for _, c := range []struct {
		name  string
		focus []string
		want  string
	}{
		{"all", nil, ""},
		{"what a rule judges", []string{"base.request-answered"}, "only the 1 selected of 2 cases ran"},
		{"what a case judges", []string{pinged}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, err := judge(t, &toy{}, engine.Options{
					Cases: []suite.Case{pinging(true), other}, Rules: rules.Base(), Revisions: []spec.Revision{spec.V20250618},
					Selection: engine.Selection{Focus: c.focus},
				})
				if err != nil {
					t.Fatal(err)
				}
				noticed := slices.ContainsFunc(p.Notices, func(n string) bool { return strings.HasPrefix(n, "only the 1 selected of 2 cases ran") })
				if noticed != (c.want != "") {
					t.Errorf("the notices are %q", p.Notices)
				}
			})
		})
	}
}
