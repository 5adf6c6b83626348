package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// offer is what the probe has found out about the server: the revisions that it
// speaks, and its inventory in each.
type offer struct {
	over        spec.Transport
	revisions   []spec.Revision
	notSpoken   []verdict.NotSpoken
	inventories map[spec.Revision]*inventory.Inventory
	// alone is the revision whose units have processes of their own, because the server no longer
	// serves it once a client has used another revision; "" if there is none.
	alone spec.Revision
	// handshakeFails is why no handshake succeeded in any revision, or "" if one did. If it is set,
	// the rules judge the attempt, and every case is blocked, with the exception described at
	// protected.
	handshakeFails string
	// protected reports whether the server requires a token that the run does not have.
	// handshakeFails is then set too, and only cases that need no conversation run.
	protected bool
	// unresponsive holds, by revision, why the server serves no request after the handshake. In
	// such a revision the rules judge the attempt, and every case is blocked.
	unresponsive map[spec.Revision]string
	// isSlow reports whether the run spends most of its time waiting for the server, as far as the
	// probe has shown.
	isSlow bool
}

// place returns the requirement together with the revision and transport in which it is judged.
func (r *offer) place(requirement string, rev spec.Revision) verdict.Place {
	return verdict.Place{Requirement: requirement, Revision: rev, Transport: r.over}
}

func (r *offer) setUnresponsive(rev spec.Revision, why string) {
	if r.unresponsive == nil {
		r.unresponsive = map[spec.Revision]string{}
	}
	r.unresponsive[rev] = why
}

func (r *offer) newest() spec.Revision { return slices.Max(r.revisions) }

// whyRevisionBlocked returns why no case can run in the revision, or "".
func (r *offer) whyRevisionBlocked(rev spec.Revision) string {
	if r.handshakeFails != "" {
		return r.handshakeFails
	}
	return r.unresponsive[rev]
}

// whyInapplicable returns why the case does not apply to the transport or to what the server
// declares, or "".
func (r *offer) whyInapplicable(c *suite.Case, rev spec.Revision) string {
	if c.OnlyOver != "" && c.OnlyOver != r.over {
		return "the case applies only to " + string(c.OnlyOver)
	}
	return r.whyUndeclared(c.Needs, rev)
}

// whyUndeclared returns a reason that names a capability that the server does not declare, or "" if
// it declares all the given ones.
func (r *offer) whyUndeclared(capabilities []string, rev spec.Revision) string {
	for _, capability := range capabilities {
		if offered := r.inventories[rev]; offered != nil && !offered.Declares(capability) {
			return "the server does not declare " + capability
		}
	}
	return ""
}

// unresponsiveReason returns why a revision could not be judged although the server speaks it, or
// "". A finding does not always explain this, because over HTTP a server may refuse requests for
// any reason, and over stdio the responses may come only when stdin is closed.
func (r *offer) unresponsiveReason() string {
	for _, rev := range r.revisions {
		switch why := r.unresponsive[rev]; {
		case why == "":
		case len(r.unresponsive) == len(r.revisions):
			return why
		default:
			return "in " + string(rev) + ", " + why
		}
	}
	return ""
}

// displayName returns the server's name and version, if it reports a name, and the target.
func (r *offer) displayName(target string) string {
	for _, rev := range r.revisions {
		if s := r.inventories[rev].Server; s.Name != "" {
			return fmt.Sprintf("%s (%s)", strings.TrimSpace(s.Name+" "+s.Version), target)
		}
	}
	return target
}

// incompleteLists returns notices about lists whose end was not reached. It leaves out lists
// without a result, and lists with an empty cursor, which often means the end. Rules judge both.
func (r *offer) incompleteLists() []string {
	var texts []string
	for _, rev := range r.revisions {
		v := r.inventories[rev]
		if v == nil {
			continue
		}
		for _, method := range slices.Sorted(maps.Keys(v.Incomplete)) {
			text := fmt.Sprintf("%s: %s; entries after that were not judged", method, v.Incomplete[method])
			if why := v.Incomplete[method]; why != inventory.NoResult && why != inventory.EmptyCursor && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// unknownNames returns notices about names in the configuration that the
// server does not offer.
func (r *offer) unknownNames(policy *inventory.Config) []string {
	var all []*inventory.Inventory
	for _, rev := range r.revisions {
		if v := r.inventories[rev]; v != nil && r.unresponsive[rev] == "" {
			all = append(all, v)
		}
	}
	return policy.UnknownNames(all)
}
