package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// TestUnexplainedExits checks that an exit is explained if any of the units
// that it interrupted also makes its own process exit, however often.
func TestUnexplainedExits(t *testing.T) {
	guilty, other, running := &transcript.Transcript{}, &transcript.Transcript{}, &transcript.Transcript{}
	unitOf := func(record *transcript.Transcript) *opener {
		return &opener{convs: []*client.Conversation{{Record: record}}}
	}
	var e ends
	units := map[*transcript.Transcript]*unit{guilty: {}, other: {}, running: {}}
	for record, u := range units {
		e.begin(u, unitOf(record))
	}
	e.settle(units[guilty], true)
	e.settle(units[other], false)

	all := []transport.Ending{
		{Detail: "alone", Records: []*transcript.Transcript{guilty}},
		{Detail: "beside others", Records: []*transcript.Transcript{other, guilty}},
		{Detail: "of an innocent unit", Records: []*transcript.Transcript{other}},
		{Detail: "of a unit that still runs", Records: []*transcript.Transcript{running}},
		{Detail: "while nothing was open"},
	}
	var got []string
	for _, ending := range e.unexplained(all) {
		got = append(got, ending.Detail)
	}
	if diff := cmp.Diff([]string{"of an innocent unit", "while nothing was open"}, got); diff != "" {
		t.Error(diff)
	}
}
