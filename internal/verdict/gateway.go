package verdict

import (
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// A Gateway is the result of comparing a run through a gateway with a run on the server behind the
// gateway.
type Gateway struct {
	Upstream string        `json:"upstream"` // the URL of the reference server behind the gateway
	Revision spec.Revision `json:"revision"` // the revision of the comparison
	// Lost are the requirements that are kept without the gateway, but not observed or not
	// applicable through it.
	Lost []LostRequirement `json:"lost"`
	// Changes are what the gateway changes, the most severe first.
	Changes []Change `json:"changes"`
	// Unchanged are the names of the comparisons without a difference.
	Unchanged []string `json:"unchanged"`
	// NotCompared say what could not be compared, and why.
	NotCompared []NotCompared `json:"notCompared"`
	// Direct and Through are the typical response times without and with the gateway.
	Direct  time.Duration `json:"directNanoseconds"`
	Through time.Duration `json:"throughNanoseconds"`
}

// A LostRequirement is a requirement that is kept without a gateway, but not observed or not
// applicable through it.
type LostRequirement struct {
	Requirement string        `json:"requirement"`
	Revision    spec.Revision `json:"revision"`
	Outcome     Outcome       `json:"outcome"` // not observed or not applicable
}

// A Change is something that a gateway changes.
type Change struct {
	Name    string   `json:"name"`    // such as progress
	Title   string   `json:"title"`   // what was compared
	Details []string `json:"details"` // where it differs
	// Outcome is Warning if the gateway loses something, and Note if the change is legal or
	// expected.
	Outcome  Outcome `json:"outcome"`
	Expected bool    `json:"expected,omitempty"` // the user expects it
	Section  string  `json:"section,omitempty"`  // the section of the specification that the change concerns
}

// A NotCompared is something that could not be compared.
type NotCompared struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Warns reports whether the gateway loses something, and the user does not expect the loss.
func (g *Gateway) Warns() bool {
	return g != nil && slices.ContainsFunc(g.Changes, func(c Change) bool { return c.Outcome == Warning })
}

// redact removes secrets from the comparison; text returns a string without its secrets.
func (g *Gateway) redact(text func(string) string) {
	if g == nil {
		return
	}
	g.Upstream = text(g.Upstream)
	for i := range g.Changes {
		replaceEach(g.Changes[i].Details, text)
	}
	for i := range g.NotCompared {
		g.NotCompared[i].Reason = text(g.NotCompared[i].Reason)
	}
}

// LostRequirements compares a run without the gateway (direct) with a run through the gateway
// (through). It returns the requirements that are kept in the first, and not observed or not
// applicable in the second.
func LostRequirements(direct, through *Report) []LostRequirement {
	type key struct {
		requirement string
		revision    spec.Revision
	}
	outcomes := map[key]Outcome{}
	for i := range through.Verdicts {
		v := &through.Verdicts[i]
		outcomes[key{v.Requirement, v.Revision}] = v.Outcome
	}
	out := []LostRequirement{}
	for i := range direct.Verdicts {
		v := &direct.Verdicts[i]
		o, judged := outcomes[key{v.Requirement, v.Revision}]
		if judged && v.Outcome == Kept && (o == NotObserved || o == NotApplicable) {
			out = append(out, LostRequirement{v.Requirement, v.Revision, o})
		}
	}
	return out
}
