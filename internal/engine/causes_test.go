package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// conversationOf returns a conversation with one event for each letter of the script: >
// sent, < received, c case began, x input closed by the client, # output closed
// by the server, ? gave up waiting for the previous event.
func conversationOf(script string) []*transcript.Event {
	kinds := map[rune]transcript.Kind{
		'>': transcript.Sent, '<': transcript.Received, 'c': transcript.CaseBegan, 'x': transcript.InputClosed,
		'#': transcript.OutputClosed, '?': transcript.GaveUp,
	}
	var out []*transcript.Event
	for i, c := range script {
		e := &transcript.Event{Seq: i, Kind: kinds[c], Of: i - 1}
		if c == 'c' {
			e.Detail = "x"
		}
		out = append(out, e)
	}
	return out
}

func TestFindingsAreGroupedByTheirCause(t *testing.T) {
	crash, quiet, other := conversationOf("><>>#"), conversationOf("><><>?x#"), conversationOf("c><><><>")
	seen := func(events []*transcript.Event, at int, pointer string) engine.Sighting {
		return engine.Sighting{Events: events, Deviation: &verdict.Deviation{At: []int{at}, Pointer: pointer}}
	}
	said := func(events []*transcript.Event, at int, during string) engine.Sighting {
		return engine.Sighting{Events: events, Deviation: &verdict.Deviation{At: []int{at}}, Case: during, ByCase: true}
	}
	ruled := func(events []*transcript.Event, at int, during string) engine.Sighting {
		s := said(events, at, during)
		s.ByCase = false
		return s
	}
	type sightings = []engine.Sighting
	for _, c := range []struct {
		name string
		seen []sightings
		want string // the group of each finding, - for none
	}{
		{"one end of the process", []sightings{{seen(crash, 4, "")}, {seen(crash, 2, "")}, {seen(crash, 3, "")}}, "F1 F1 F1"},
		{"before the last answer", []sightings{{seen(crash, 4, "")}, {seen(crash, 0, "")}}, "- -"},
		{"an end that we brought about", []sightings{{seen(quiet, 7, "")}, {seen(quiet, 4, "")}}, "- -"},
		{"an end here, and something else there", []sightings{{seen(crash, 4, "")}, {seen(crash, 3, ""), seen(quiet, 3, "")}}, "- -"},
		{"one request without an answer", []sightings{{seen(quiet, 5, "")}, {seen(quiet, 4, "")}}, "F1 F1"},
		{"the same messages", []sightings{{seen(quiet, 1, ""), seen(other, 2, "")}, {seen(other, 2, "/a"), seen(quiet, 1, "/a")}}, "F1 F1"},
		{"one message of several", []sightings{{seen(quiet, 1, ""), seen(other, 2, "")}, {seen(other, 2, "")}}, "- -"},
		{"the same value in one message of several", []sightings{{seen(quiet, 1, "/a"), seen(other, 2, "/a")}, {seen(other, 2, "/a")}}, "F1 F1"},
		{"two values of a message", []sightings{{seen(other, 2, "/a")}, {seen(other, 2, "/b")}}, "- -"},
		{"a place in another conversation", []sightings{{seen(quiet, 1, "")}, {seen(crash, 1, "")}}, "- -"},
		{"a case and a rule", []sightings{{said(other, 4, "x")}, {ruled(other, 4, "x"), ruled(quiet, 1, "y")}}, "F1 F1"},
		{"a case, and a rule that objects to more in it", []sightings{{said(other, 4, "x")}, {ruled(other, 4, "x"), ruled(other, 2, "x")}}, "- -"},
		{"a case with one message", []sightings{{said(crash, 1, "x")}, {ruled(crash, 1, "x"), ruled(quiet, 1, "y")}}, "- -"},
		{"no evidence", []sightings{{engine.Sighting{Deviation: &verdict.Deviation{}}}, {engine.Sighting{Deviation: &verdict.Deviation{}}}, nil, nil}, "- - - -"},
		{"two groups", []sightings{{seen(crash, 4, "")}, {seen(quiet, 1, "")}, {seen(crash, 3, "")}, {seen(quiet, 1, "")}}, "F1 F2 F1 F2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b verdict.Builder
			for i, sightings := range c.seen {
				k := verdict.Key{Place: verdict.Place{Requirement: "base.parse-error"}, Summary: fmt.Sprint(i)}
				for _, s := range sightings {
					b.AddOccurrence(k, s.Occurrence())
				}
				b.AddFinding(k, func() verdict.Finding { return verdict.NewFinding(k, &verdict.Deviation{}, verdict.Warning) })
			}
			p := b.Build()
			var got []string
			for _, f := range p.Findings {
				group := f.Group
				if group == "" {
					group = "-"
				}
				got = append(got, group)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}
