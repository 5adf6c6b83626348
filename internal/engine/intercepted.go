package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// severalClients ends the ids of the requirements that a limit may break.
const severalClients = ".multiple-clients"

// intercepted takes back what a case says of a conversation in which something
// between here and the server answered for it. That a server has no room for
// another client may well be a matter of the requirement.
func intercepted(c *suite.Case, said []suite.Observation) []suite.Observation {
	for i := range said {
		s := &said[i]
		if s.Deviation == nil || s.Record == nil || strings.HasSuffix(s.Requirement, severalClients) {
			continue
		}
		if x := interception(c, s.Record.From(0)); x != nil {
			said[i] = suite.Observation{
				Requirement: s.Requirement, Outcome: verdict.NotObserved,
				Reason: "a request was answered with " + strconv.Quote(suite.Excerpt(x.ResponseHead().Line, 80)) + ", which tells nothing of the server",
			}
		}
	}
	return said
}

// interception returns an exchange of the case to which somebody else answered,
// or nil. A conversation that cases share has those of others before.
func interception(c *suite.Case, events []*transcript.Event) *transcript.Exchange {
	from := 0
	for _, e := range events {
		if e.Kind == transcript.Remark && e.Detail == caseMark+c.ID {
			from = e.Seq
		}
	}
	for _, x := range transcript.ExchangesOf(events[from:]).All() {
		if x.Request != nil && x.Intercepted() {
			return x
		}
	}
	return nil
}

// detours are the responses of what stands between here and the server.
type detours struct {
	count int
	line  string // the first status line
}

func (d *detours) note(head *transcript.Head) {
	x := transcript.Exchange{Response: &transcript.Event{Head: head}}
	if !x.Intercepted() {
		return
	}
	d.count++
	if d.line == "" {
		d.line = head.Line
	}
}

// notice says what came of them, "" where there are none.
func (d *detours) notice() string {
	switch d.count {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("a request was answered with %q, as by a proxy or a limit in front of the server; it is not judged by that", suite.Excerpt(d.line, 80))
	default:
		return fmt.Sprintf("%d requests were answered with %q and the like, as by a proxy or a limit in front of the server; it is not judged by them", d.count, suite.Excerpt(d.line, 80))
	}
}
