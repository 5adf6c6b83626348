package suites_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites"
)

var update = flag.Bool("update", false, "write rounds.txt anew")

// TestEffort checks that a run against the reference server starts no more servers, opens no more
// sessions and sends no more requests than the table permits, and that rounds.txt is about right.
func TestEffort(t *testing.T) {
	type most struct{ starts, sessions, requests int } // lower them when a run needs less
	measured := roundCounter{rounds: map[string]int{}}
	for _, c := range []struct {
		name      string
		over      spec.Transport
		revisions []spec.Revision // default: all
		most      most
	}{
		{"stdio, 2025-11-25", spec.Stdio, []spec.Revision{spec.V20251125}, most{46, 45, 1650}},
		{"stdio, 2026-07-28", spec.Stdio, []spec.Revision{spec.V20260728}, most{14, 5, 2100}},
		{"stdio, all revisions", spec.Stdio, nil, most{160, 150, 8000}},
		{"Streamable HTTP, 2025-11-25", spec.StreamableHTTP, []spec.Revision{spec.V20251125}, most{74, 76, 1650}},
		{"Streamable HTTP, all revisions", spec.StreamableHTTP, nil, most{235, 190, 6550}},
	} {
		t.Run(c.name, func(t *testing.T) {
			measured.begin()
			d, stop := suitetest.ReferenceOver(c.over, refserver.Options{})
			defer stop()
			r, err := engine.Run(t.Context(), engine.Options{
				Dialer: d, Cases: suites.Cases(), Rules: ruleset.All(), Revisions: c.revisions, Jobs: 2,
				Policy: inventory.Config{Policy: inventory.CallAll}, Record: measured.record,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, each := range []struct {
				what      string
				got, most int
			}{
				{"server starts", r.Stats.Servers, c.most.starts},
				{"sessions", r.Stats.Sessions, c.most.sessions},
				{"requests", r.Stats.Requests, c.most.requests},
			} {
				if each.got > each.most {
					t.Errorf("%d %s, more than %d", each.got, each.what, each.most)
				}
			}
		})
	}
	all := suites.Cases()
	if *update {
		measured.write(t, all)
		return
	}
	for _, c := range all {
		if got := measured.rounds[c.ID]; !isAbout(c.Rounds, got) {
			t.Errorf("%s takes %d rounds, and rounds.txt says %d: go test ./suites -run Effort -update writes it anew", c.ID, got, c.Rounds)
		}
	}
}

// isAbout reports whether a number of rounds is near enough to the measured one for an estimate.
func isAbout(rounds, measured int) bool {
	const few = 5
	return rounds <= 2*measured+few && measured <= 2*rounds+few
}

// A roundCounter counts the rounds of each case, in its revision with the most.
type roundCounter struct {
	mu     sync.Mutex
	run    map[string]map[spec.Revision]int // those of the run that goes on
	rounds map[string]int
}

// begin begins a run.
func (c *roundCounter) begin() { c.run = map[string]map[spec.Revision]int{} }

// record implements engine.Options.Record.
func (c *roundCounter) record(r engine.Recorded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	during, hasSent := r.Occasion, false
	for _, e := range r.Events {
		switch e.Kind {
		case transcript.CaseBegan:
			during = e.Detail
		case transcript.Sent:
			hasSent = true
		case transcript.Received:
			if hasSent {
				c.count(during, r.Revision)
			}
			hasSent = false
		}
	}
}

func (c *roundCounter) count(id string, rev spec.Revision) {
	if c.run[id] == nil {
		c.run[id] = map[spec.Revision]int{}
	}
	c.run[id][rev]++
	c.rounds[id] = max(c.rounds[id], c.run[id][rev])
}

func (c *roundCounter) write(t *testing.T, all []suite.Case) {
	t.Helper()
	var lines []string
	for i := range all {
		lines = append(lines, fmt.Sprintln(all[i].ID, c.rounds[all[i].ID]))
	}
	slices.Sort(lines)
	if err := os.WriteFile("rounds.txt", []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}
