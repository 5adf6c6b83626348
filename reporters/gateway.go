package reporters

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A gatewayView is what reports show of a gateway.
type gatewayView struct {
	head    string
	changes []gatewayChange
	rest    []string // sentences
}

// A gatewayChange is one difference between what the upstream server sends and receives directly
// and through the gateway.
type gatewayChange struct {
	outcome     verdict.Outcome
	name, title string
	details     []string
}

const (
	gatewayText = 300 // bytes of a detail that are shown
	mostLost    = 10  // requirements that are named
)

// gatewayOf returns what reports show of the gateway, or nil if the server is not a gateway.
func gatewayOf(r *verdict.Report) *gatewayView {
	g := r.Gateway
	if g == nil {
		return nil
	}
	lost := 0
	v := &gatewayView{}
	for i := range g.Changes {
		c := &g.Changes[i]
		view := gatewayChange{outcome: c.Outcome, name: Visible(c.Name), title: Visible(c.Title)}
		if c.Expected {
			view.title += " (expected)"
		}
		for _, d := range c.Details {
			view.details = append(view.details, clip(d, gatewayText))
		}
		if c.Outcome == verdict.Warning {
			lost++
		}
		v.changes = append(v.changes, view)
	}
	v.head = fmt.Sprintf("compared with the server alone in %s: %d of %d the same", Visible(string(g.Revision)), len(g.Unchanged), len(g.Unchanged)+len(g.Changes))
	if lost > 0 {
		v.head += fmt.Sprintf(", %d lost or changed", lost)
	}
	if legal := len(g.Changes) - lost; legal > 0 {
		v.head += ", " + countWithNoun(legal, "legal change")
	}
	if g.Through > 0 && g.Direct > 0 {
		v.rest = append(v.rest, fmt.Sprintf("a response takes %s, without the gateway %s", responseTime(g.Through), responseTime(g.Direct)))
	}
	for _, reason := range reasons(g.NotCompared) {
		var names []string
		for _, n := range g.NotCompared {
			if n.Reason == reason {
				names = append(names, Visible(n.Name))
			}
		}
		v.rest = append(v.rest, "not compared: "+strings.Join(names, ", ")+" ("+clip(reason, gatewayText)+")")
	}
	if len(g.Lost) > 0 {
		v.rest = append(v.rest, lostText(g.Lost))
	}
	return v
}

// junitGateway returns a testcase for each comparison of a gateway. A change that is a warning is a
// failure if warnings fail the run. A comparison that was not made is skipped.
func junitGateway(r *verdict.Report) []junitCase {
	if r.Gateway == nil {
		return nil
	}
	named := func(name string) junitCase {
		return junitCase{Name: Visible(name), Classname: "mcp.gateway", Time: noTime}
	}
	var out []junitCase
	for _, change := range gatewayOf(r).changes {
		c, text := named(change.name), strings.Join(slices.Concat([]string{change.title}, change.details), "\n")
		if change.outcome == verdict.Warning && r.FailOn == FailOnShould {
			c.Failure = &junitOutcome{Type: change.outcome.String(), Message: clip("the gateway changes "+change.title, junitMessage), Body: text}
		} else {
			c.Output = change.outcome.String() + ": " + text
		}
		out = append(out, c)
	}
	for _, name := range r.Gateway.Unchanged {
		out = append(out, named(name))
	}
	for _, n := range r.Gateway.NotCompared {
		c := named(n.Name)
		c.Skipped = &junitOutcome{Type: "not compared", Message: clip(n.Reason, junitMessage)}
		out = append(out, c)
	}
	return out
}

// reasons returns the reasons why comparisons were not made, each once.
func reasons(all []verdict.NotCompared) []string {
	var out []string
	for _, n := range all {
		if !slices.Contains(out, n.Reason) {
			out = append(out, n.Reason)
		}
	}
	return out
}

// lostText names the requirements that are not observed through the gateway, each once.
func lostText(lost []verdict.LostRequirement) string {
	var ids []string
	seen := map[string]bool{}
	for _, l := range lost {
		if !seen[l.Requirement] {
			seen[l.Requirement] = true
			ids = append(ids, Visible(l.Requirement))
		}
	}
	text := countWithNoun(len(ids), "requirement") + " kept without the gateway and not observed through it: " + strings.Join(ids[:min(len(ids), mostLost)], ", ")
	if len(ids) > mostLost {
		text += ", … (the JSON report has all)"
	}
	return text
}

func responseTime(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }

// gatewayLines returns the section about the gateway.
func (c *Console) gatewayLines(r *verdict.Report) []string {
	v := gatewayOf(r)
	if v == nil {
		return nil
	}
	out := WrapLine("gateway: "+v.head, c.foldWidth(), 2)
	for i := range v.changes {
		change := &v.changes[i]
		look := outcomeStyles[change.outcome]
		lead := "  " + c.paint(look.color, look.mark) + " " + change.name + ": "
		text := change.title + ": " + strings.Join(change.details, "; ")
		if c.foldWidth() == 0 {
			out = append(out, lead+text)
			continue
		}
		out = append(out, appendWrapped(lead, width("  "+look.mark+" "+change.name+": "), splitWords(text), c.foldWidth(), 4)...)
	}
	for _, text := range v.rest {
		out = append(out, WrapLine("  "+text, c.foldWidth(), 4)...)
	}
	return out
}

// markdownGateway returns the section about the gateway, or "".
func markdownGateway(r *verdict.Report) string {
	v := gatewayOf(r)
	if v == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("### Gateway\n\n" + escapeMarkdown(v.head, markdownText) + "\n\n")
	for i := range v.changes {
		c := &v.changes[i]
		fmt.Fprintf(&b, "* %s %s: %s: %s\n", outcomeMarks[c.outcome], escapeMarkdown(c.name, 40), escapeMarkdown(c.title, markdownText), escapeMarkdown(strings.Join(c.details, "; "), markdownText))
	}
	for _, text := range v.rest {
		b.WriteString("* " + escapeMarkdown(text, markdownText) + "\n")
	}
	return b.String() + "\n"
}

// A pageGateway is the section about the gateway.
type pageGateway struct {
	Head    string
	Changes []pageChange
	Rest    []string
}

// A pageChange is a row of the table in a pageGateway.
type pageChange struct {
	Class, Outcome, Name, Title string
	Details                     []string
}

func pageGatewayOf(r *verdict.Report) *pageGateway {
	v := gatewayOf(r)
	if v == nil {
		return nil
	}
	p := &pageGateway{Head: v.head, Rest: v.rest}
	for i := range v.changes {
		c := &v.changes[i]
		p.Changes = append(p.Changes, pageChange{classOf(c.outcome), c.outcome.String(), c.name, c.title, c.details})
	}
	return p
}
