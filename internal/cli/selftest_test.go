package cli

import (
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

func TestFaultWithoutPlaceIsAnError(t *testing.T) {
	if err := checkPlaces(faults.All()); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		fault faults.Fault
		want  string
	}{
		"unknown requirement": {faults.Fault{ID: "a/b", Requirement: "tools.no-such"}, "does not exist"},
		"other transport": {
			faults.Fault{ID: "a/b", Requirement: "stdio.newline-delimited", Transports: []spec.Transport{spec.StreamableHTTP}},
			"can be tried nowhere",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkPlaces([]faults.Fault{c.fault}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got the error %v, want one with %q", err, c.want)
			}
		})
	}
}
