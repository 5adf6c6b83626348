package faults_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

func TestRowsAreSound(t *testing.T) {
	seen := map[string]bool{}
	variations := 0
	for _, f := range faults.All() {
		if seen[f.ID] {
			t.Errorf("%s: the id is used twice", f.ID)
		}
		seen[f.ID] = true
		if f.Title == "" || f.Seams == nil || f.Area == "" {
			t.Errorf("%s: title, area and seams must be set", f.ID)
		}
		if found, ok := faults.Lookup(f.ID); !ok || found.Title != f.Title {
			t.Errorf("%s: Lookup does not find it", f.ID)
		}
		if f.Legal {
			variations++
			if f.Requirement != "" || !strings.HasPrefix(f.ID, "legal/") {
				t.Errorf("%s: a legal variation breaks no requirement", f.ID)
			}
			continue
		}
		q := spec.Requirements().Lookup(f.Requirement)
		if q == nil {
			t.Errorf("%s: the catalogue has no requirement %q", f.ID, f.Requirement)
			continue
		}
		if q.Level == spec.May && f.Transports == nil {
			t.Errorf("%s: a MAY can't be broken", f.ID) // over HTTP some are noted
		}
		for _, over := range transports(f) {
			for _, r := range revisions(f, over) {
				if !q.AppliesTo(r, over) || !over.DefinedIn(r) {
					t.Errorf("%s: the requirement does not exist in %s over %s", f.ID, r, over)
				}
			}
			if len(revisions(f, over)) == 0 {
				t.Errorf("%s: the requirement exists in no handshake revision over %s", f.ID, over)
			}
		}
	}
	if variations < 80 {
		t.Errorf("only %d legal variations", variations)
	}
	if _, ok := faults.Lookup("none"); ok {
		t.Error("Lookup finds what does not exist")
	}
}

func transports(f faults.Fault) []spec.Transport {
	if f.Transports == nil {
		return []spec.Transport{spec.Stdio}
	}
	return f.Transports
}

// revisions returns those in which a fault can be shown over a transport.
func revisions(f faults.Fault, over spec.Transport) []spec.Revision {
	if !slices.Contains(transports(f), over) {
		return nil
	}
	if f.Revisions != nil {
		return f.Revisions
	}
	q := spec.Requirements().Lookup(f.Requirement)
	return slices.DeleteFunc(spec.HandshakeRevisions(), func(r spec.Revision) bool { return !f.Legal && !q.AppliesTo(r, over) || !over.DefinedIn(r) })
}

// inScope tells whether the requirement can be tested in a handshake revision
// over a transport of that revision; authorization and security have no part
// in the reference server.
func inScope(q *spec.Requirement) bool {
	return q.Area != "authorization" && q.Area != "security" && q.Testable != spec.No && slices.ContainsFunc(spec.HandshakeRevisions(), func(r spec.Revision) bool {
		return slices.ContainsFunc(spec.Transports(), func(over spec.Transport) bool { return over.DefinedIn(r) && q.AppliesTo(r, over) })
	})
}

// TestEveryRequirementHasAFault: what can be broken is broken by a fault, or
// there is a reason why not.
func TestEveryRequirementHasAFault(t *testing.T) {
	broken := map[string]bool{}
	for _, f := range faults.All() {
		broken[f.Requirement] = true
	}
	reasons := faults.NotShown()
	for _, q := range spec.Requirements().All() {
		if !inScope(q) || q.Level == spec.May {
			continue
		}
		why, listed := reasons[q.ID]
		delete(reasons, q.ID)
		switch {
		case broken[q.ID] == listed:
			t.Errorf("%s (%s): has a fault: %v; reason for having none: %q", q.ID, q.Level, broken[q.ID], why.Reason)
		case listed && why.Reason == "":
			t.Errorf("%s: no reason is given for having no fault", q.ID)
		case why.Elsewhere != "" && !broken[why.Elsewhere]:
			t.Errorf("%s is said to be shown by the faults of %s, which has none", q.ID, why.Elsewhere)
		}
	}
	for id := range reasons {
		t.Errorf("%s needs no reason for having no fault: no handshake revision has it, or nobody can break it", id)
	}
}

// TestEveryPermissionIsUsed: whatever the specification leaves open is made
// use of by a legal variation, or there is a reason why not.
func TestEveryPermissionIsUsed(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range slices.Concat(faults.Permissions(), faults.Contradictions()) {
		if seen[p.What] {
			t.Errorf("%s is there twice", p.What)
		}
		seen[p.What] = true
		if (len(p.Variations) == 0) == (p.Why == "") {
			t.Errorf("%s: there must be variations, or a reason why there are none", p.What)
		}
		for _, name := range p.Variations {
			if f, ok := faults.Lookup("legal/" + name); !ok || !f.Legal {
				t.Errorf("%s: there is no legal variation %s", p.What, name)
			}
		}
	}
	for _, p := range faults.Permissions() {
		if q := spec.Requirements().Lookup(p.What); q == nil || q.Level != spec.May || !inScope(q) {
			t.Errorf("%s is no MAY of a handshake revision that can be tested", p.What)
		}
	}
	for _, q := range spec.Requirements().All() {
		if inScope(q) && q.Level == spec.May && !seen[q.ID] {
			t.Errorf("%s is permitted, and no legal variation is said to make use of it", q.ID)
		}
	}
}
