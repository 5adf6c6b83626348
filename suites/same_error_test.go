package suites_test

import (
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites"
)

// TestListsThatAreRefusedAlikeHaveOneCause checks that findings on lists that all get the same error
// have one cause, even if they were seen in different conversations.
func TestListsThatAreRefusedAlikeHaveOneCause(t *testing.T) {
	for _, over := range []spec.Transport{spec.Stdio, spec.StreamableHTTP} {
		suitetest.RunWhole(t, string(over), over, func(t *testing.T) {
			if over != spec.Stdio {
				skip.Slow(t)
			}
			d, stop := suitetest.ReferenceOver(over, refserver.Options{Seams: refserver.Seams{
				Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
					if strings.HasSuffix(c.Method, "/list") {
						return nil, &refserver.Error{Code: spec.CodeInternal, Message: "no tenant is called acme"}
					}
					return next(c)
				},
			}})
			defer stop()
			report, err := engine.Run(t.Context(), engine.Options{
				Dialer: d, Cases: suites.Cases(), Rules: ruleset.All(), Revisions: []spec.Revision{spec.V20260728}, Jobs: 2,
			})
			if err != nil {
				t.Fatal(err)
			}
			group, found := "", 0
			for _, f := range report.Findings {
				if !strings.HasSuffix(f.Requirement, ".list.answered") {
					continue
				}
				if found++; found > 1 && f.Group != group || f.Group == "" {
					t.Errorf("%s is in group %q, another one in %q", f.Requirement, f.Group, group)
				}
				group = f.Group
			}
			if found != 3 {
				t.Errorf("%d lists are found to be refused", found)
			}
		})
	}
}
