package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// unseen is why a rule has nothing to say: nothing was sent that could have
// shown it. Where something was, the reason names what came instead.
const unseen = "it did not come up"

// unshown is the same for a case that came to its end without a word on one of
// its requirements.
const unshown = "nothing came up by which to judge it"

// instead replaces the reason of a verdict that was not observed although a case
// sent what is made to show it: the reader learns what the server did.
func (r *execution) instead(v *verdict.Verdict) {
	if v.Outcome != verdict.NotObserved || v.Gap != verdict.NeverCameUp && v.Gap != verdict.NothingSaid {
		return
	}
	// A case that names the requirement says more than one that provokes all of
	// its area.
	for _, made := range []func(c *suite.Case) bool{
		func(c *suite.Case) bool {
			return slices.Contains(c.Requirements, v.Requirement) || slices.Contains(c.Provokes, v.Requirement)
		},
		func(c *suite.Case) bool { return c.Touches(v.Requirement) },
	} {
		for _, u := range r.units {
			for _, c := range u.cases {
				if u.revision != v.Revision || !made(c) {
					continue
				}
				if sent := u.sent[c.ID]; sent != "" {
					v.Reason = fmt.Sprintf("nothing that came shows it: the case %s sent %s", c.ID, sent)
					return
				}
			}
		}
	}
}

// mostNamed bounds the methods that are named of a case.
const mostNamed = 4

// exchanged names what the case sent beyond the handshake, and what came of it:
// "tools/call (result, error -32602), DELETE (status 405)". It is the same for
// equal runs: what was cancelled, and so depends on time, is left out.
func (u *unit) exchanged(c *suite.Case) string {
	outcomes := map[string][]string{}
	var methods []string
	add := func(method, outcome string) {
		if outcomes[method] == nil {
			methods = append(methods, method)
		}
		if !slices.Contains(outcomes[method], outcome) {
			outcomes[method] = append(outcomes[method], outcome)
		}
	}
	for _, conv := range u.convs {
		mine := part(conv.Record.From(0), u.shares, c.ID)
		for _, x := range transcript.ExchangesOf(mine).All() {
			if method := x.Method(); method != "" && method != "POST" {
				add(method, statusOf(x))
			}
		}
		for _, p := range dealings(mine) {
			add(p.method, p.outcome)
		}
	}
	slices.Sort(methods)
	var said []string
	for _, m := range methods[:min(len(methods), mostNamed)] {
		slices.Sort(outcomes[m])
		said = append(said, m+" ("+strings.Join(outcomes[m], ", ")+")")
	}
	if more := len(methods) - len(said); more > 0 {
		said = append(said, "and other requests")
	}
	return strings.Join(said, ", ")
}

// part returns the events of a conversation that belong to a case.
func part(events []*transcript.Event, shared bool, id string) []*transcript.Event {
	if !shared {
		return events
	}
	var out []*transcript.Event
	mine := false
	for _, e := range events {
		if e.Kind == transcript.CaseBegan {
			mine = e.Detail == id
		}
		if mine {
			out = append(out, e)
		}
	}
	return out
}

func statusOf(x *transcript.Exchange) string {
	if x.Response == nil {
		return "no response"
	}
	return fmt.Sprintf("status %d", x.Status())
}

// dealing is a request of the client and what came of it.
type dealing struct{ method, outcome string }

// dealings returns the requests beyond handshake and pings that were not cancelled.
func dealings(events []*transcript.Event) []dealing {
	type open struct {
		method, outcome string
		cancelled       bool
	}
	var order []*open
	byID := map[string]*open{}
	for _, e := range events {
		for i := range e.Messages() {
			m := &e.Messages()[i]
			switch {
			case e.Kind == transcript.Sent && m.Kind == wire.Request && m.Method != spec.MethodInitialize && m.Method != spec.MethodPing:
				o := &open{method: wire.Excerpt(m.Method, 40), outcome: "no response"}
				order, byID[m.ID.Key()] = append(order, o), o
			case e.Kind == transcript.Sent && m.Method == spec.MethodCancelled:
				if o := byID[wire.IDAt(m.Params(), "/requestId").Key()]; o != nil {
					o.cancelled = true
				}
			case e.Kind == transcript.Received && m.Kind == wire.Response:
				if o := byID[m.ID.Key()]; o != nil && o.outcome == "no response" {
					o.outcome = "result"
					if m.IsError() {
						code, _ := m.ErrorCode()
						o.outcome = fmt.Sprintf("error %d", code)
					}
				}
			}
		}
	}
	var out []dealing
	for _, o := range order {
		if !o.cancelled {
			out = append(out, dealing{o.method, o.outcome})
		}
	}
	return out
}
