package spec

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/mcp-conform/mcp-conform/fixtures"
)

// frozen are the hashes of all profiles: SHA-256 of their files. A new version of a
// profile gets a new line; no line ever changes.
var frozen = map[string]string{
	"authorization@1":   "49ece194c62e7c4ee2a77d65e19c97defb381200d0771c766d136b6c67567858",
	"completion@1":      "1ef43511f0a74f3350e795d0b34da645ec6f75725df6d1d1b76231b97a39f8e1",
	"core@1":            "2b1001cf87e96fa0edd3ba5e64058bb12ea3a7fb2b975167477a05debb21b529",
	"elicitation@1":     "7b9b3cd5ce23ab4037d37f862feeebc9a5f7caae7148080ed41cf6e0b9dbedff",
	"full@1":            "c0da577715c0de21a051b9f1e1272b614210cdb96fd2bf34cfe8eae774498ce6",
	"logging@1":         "fa9c6866dd7d16973cae155067d155b3bf31d393b15e1da75656f7b51d26e706",
	"prompts@1":         "25037c3ca0a3a4d47d4a6d7b65ebb1c8658df3bff1d44f83b4ff1ddfeef4e800",
	"resources@1":       "cdffe46ca8d41b8d82e8fa13d19a609293191415d645549bf82dd6eda1d90a1c",
	"roots@1":           "111c0b00a3ecac07b9c17649396fec63d517d14ae04c40ac0c55caa2bb6caa4c",
	"sampling@1":        "ece548966ec1cd39941fbf38e12cc5b1baa9062beab1bdf63f95008da0321221",
	"security@1":        "66bfbcd591d9344e7782b2720e12aa10f47cf81bb825f7d5965a22cf3045ed95",
	"sse@1":             "6b58d84fd0b6e4f5155dffd6057e49826bdc9bb0ad862e36b0341201b928efee",
	"stdio@1":           "157256bb2e603350a8e63fe18b41c0750bb24c864bb701ceca6343112e3b6f33",
	"streamable-http@1": "ceb80b4afaf3778ad23becfc8ae3b92457cad6e83e4b1cec824f6d7579a51e13",
	"tasks@1":           "02cedd88d1c2773d7cdc00794471890eedb3526a80ab7f84afda342822abe558",
	"tools@1":           "c89e0ab58215d0bd6a0c80e24fdf6e36c7b52ebc8ab7c6e25c268acc9ebe34fc",
}

// TestProfilesAreFrozen checks that no published profile has changed or is gone.
func TestProfilesAreFrozen(t *testing.T) {
	got := map[string]string{}
	for _, p := range Profiles() {
		got[p.Name] = p.Digest
	}
	if diff := cmp.Diff(frozen, got); diff != "" {
		t.Errorf("profiles never change, because results of different days must be comparable; restore the file, and write a new version with its own line in this test (-frozen +now):\n%s", diff)
	}
}

// TestProfilesNameRequirements checks that each id of a profile is in the catalogue or
// in the list of retired ids, never in both, and applies somewhere in the profile.
func TestProfilesNameRequirements(t *testing.T) {
	text, err := fixtures.Profiles.ReadFile("profiles/retired.yaml")
	if err != nil {
		t.Fatal(err)
	}
	retired := map[string]string{}
	if err := yaml.Unmarshal(text, &retired); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, p := range Profiles() {
		for _, id := range slices.Concat(p.Core, p.Extended) {
			used[id] = true
			q := Requirements().Lookup(id)
			switch reason, gone := retired[id]; {
			case gone && (q != nil || reason == ""):
				t.Errorf("%s is retired without a reason, or is still in the catalogue", id)
			case q == nil && !gone:
				t.Errorf("%s lists %s, which the catalogue does not have; an id that is given up needs a line in fixtures/profiles/retired.yaml", p.Name, id)
			case q != nil && !applies(p, q):
				t.Errorf("%s lists %s, which applies in none of its revisions over its transports", p.Name, id)
			}
		}
	}
	for id := range maps.Keys(retired) {
		if !used[id] {
			t.Errorf("%s is retired, but no profile lists it", id)
		}
	}
}

func applies(p *Profile, q *Requirement) bool {
	return slices.ContainsFunc(p.Revisions, func(r Revision) bool {
		return slices.ContainsFunc(p.Transports, func(t Transport) bool { return t.DefinedIn(r) && q.AppliesTo(r, t) })
	})
}

// TestNewestProfiles checks that versions are ordered as numbers, and that only the last
// of each profile is the newest.
func TestNewestProfiles(t *testing.T) {
	const text = "about: a\nrevisions: ['2025-06-18']\ntransports: [stdio]\ncore: [ping.responds]\n"
	all, err := readProfiles(fstest.MapFS{
		"profiles/tools@2.yaml": {Data: []byte(text)}, "profiles/tools@10.yaml": {Data: []byte(text)}, "profiles/core@1.yaml": {Data: []byte(text)},
		"profiles/retired.yaml": {Data: []byte("{}")}, "profiles/full@1.yaml": {Data: []byte(text)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"core@1", "tools@2", "tools@10", "full@1"}, names); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	names = nil
	for _, p := range newest(all) {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"core@1", "tools@10", "full@1"}, names); diff != "" {
		t.Errorf("newest (-want +got):\n%s", diff)
	}
}

func TestProfilesAreChecked(t *testing.T) {
	const fine = "about: a\nrevisions: ['2025-06-18']\ntransports: [stdio]\ncore: [ping.responds]\n"
	for name, c := range map[string]struct{ file, text, says string }{
		"fine":                {"core@1", fine, ""},
		"a version that is 0": {"core@0", fine, "no name with a version"},
		"a word as version":   {"core@new", fine, "no name with a version"},
		"an id twice":         {"core@1", fine + "extended: [ping.responds]\n", "listed twice"},
		"an unknown key":      {"core@1", fine + "more: [ping.responds]\n", "field more not found"},
		"an unknown revision": {"core@1", strings.ReplaceAll(fine, "2025-06-18", "2025-06-19"), "not published"},
		"no transport":        {"core@1", strings.ReplaceAll(fine, "stdio", "pigeon"), "not known"},
		"no core":             {"core@1", "about: a\n", "must not be empty"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readProfiles(fstest.MapFS{"profiles/" + c.file + ".yaml": {Data: []byte(c.text)}})
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}
