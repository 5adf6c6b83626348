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
		if f.Title == "" || f.Seams == nil {
			t.Errorf("%s: title and seams must be set", f.ID)
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
	if variations < 25 {
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

// notBreakable are the testable requirements that no server on stdio can be
// seen to break.
var notBreakable = map[string]string{
	"ping.periodic":              "no period is named, so that a server that never pings breaks nothing",
	"stdio.one-message-per-line": "an array breaks base.batch-not-emitted, two messages on a line break stdio.newline-delimited",
	"ping.timeout-is-failure":    "no period is named after which a ping has failed",
}

func TestEveryRequirementHasAFault(t *testing.T) {
	broken := map[string]bool{}
	for _, f := range faults.All() {
		broken[f.Requirement] = true
	}
	for _, q := range spec.Requirements().All() {
		inScope := slices.Contains([]string{"base", "lifecycle", "versioning", "transport-stdio"}, q.Area) || strings.HasPrefix(q.ID, "ping.")
		exists := slices.ContainsFunc(spec.HandshakeRevisions(), func(r spec.Revision) bool { return q.AppliesTo(r, spec.Stdio) })
		if !inScope || !exists || q.Testable == spec.No || q.Level == spec.May {
			continue
		}
		if reason := notBreakable[q.ID]; (reason == "") != broken[q.ID] {
			t.Errorf("%s (%s): has a fault: %v; reason for having none: %q", q.ID, q.Level, broken[q.ID], reason)
		}
	}
}
