package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// areas remembers the last that was told of each.
type areas struct{ told map[string]string }

func (*areas) Begin(string, spec.Transport, []spec.Revision, int) {}
func (*areas) Notice(string)                                      {}
func (*areas) Waiting(string)                                     {}
func (a *areas) Area(area string, done, total int) {
	a.told[area] = fmt.Sprintf("%d/%d", done, total)
}

// Cases count to the areas of what they judge or provoke, as findings do.
func TestAreasAreThoseOfRequirements(t *testing.T) {
	nothing := func(context.Context, *suite.T) {}
	p := &areas{map[string]string{}}
	_, err := judge(t, &toy{}, engine.Options{
		Cases: []suite.Case{
			{ID: "sse.judges", Title: "x", Requirements: []string{pinged}, Asks: true, Run: nothing},
			{ID: "sse.judges-more", Title: "x", Requirements: []string{"base.request-id-type", pinged}, Provokes: []string{"tools."}, Asks: true, Run: nothing},
			{ID: "utilities.judges", Title: "x", Requirements: []string{"base.request-id-type", pinged}, Asks: true, Run: nothing},
		},
		Revisions: []spec.Revision{spec.V20250618}, Progress: p,
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"utilities": "2/2", "base": "1/1"}, p.told); diff != "" {
		t.Errorf("areas (-want +got):\n%s", diff)
	}
}
