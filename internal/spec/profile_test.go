package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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
	"authorization@1":   "9d39d20fa670101e32e10f1ee03940d13a220e8bbe6fb2b2e6e15aac1bb5fe95",
	"completion@1":      "1ef43511f0a74f3350e795d0b34da645ec6f75725df6d1d1b76231b97a39f8e1",
	"content@1":         "23c117aa3cf015eab70a6ccd615eaaaf4f5df4f2426b7e8a20523239605531b5",
	"core@1":            "c81fbecfd41eb4528d49c60d164616f03afd135ec4c8ab20cd7c1bd4edbed87d",
	"elicitation@1":     "7a76f8d453d3d7d0fc65626339817011a283d8011c9c4b4abcf56ca77583bbed",
	"full@1":            "c7ffe180d2311db673a98cdbdc443d645c117df874b361858c905085c84b307d",
	"logging@1":         "af1a64530c0118b6460cf84bdfb64679e4884e1328bbc5acfbba86229e2b64dd",
	"prompts@1":         "897b904ab70970510f68138f0373a2f0cd0ee26f061192e1afb7a92847e0330c",
	"resources@1":       "8f2ffc8d58ceda75dd652f5621b77622593a807878bdcba7ef701f883566a7d5",
	"roots@1":           "aaab977944468b0cba1e9a0e3d280b158a52b668d07f94bf56f43a2c844855a8",
	"sampling@1":        "cfcf8c7550718b6d7fb51e6a2136a33dcb9baebba46907e7b65901fd0614647b",
	"security@1":        "25cdb079ccd4ab59284c4b1edacb8ab8ee640d22ba9775b8ed3f663334bba904",
	"sse@1":             "6b58d84fd0b6e4f5155dffd6057e49826bdc9bb0ad862e36b0341201b928efee",
	"stdio@1":           "157256bb2e603350a8e63fe18b41c0750bb24c864bb701ceca6343112e3b6f33",
	"streamable-http@1": "e44f44afffed81556ed11a80843896d6d621abad834a5bb2cf77d64f41f1de50",
	"tasks@1":           "ae97ee49415977714f8bee098e48a0e0bbb00a3fca2c1794c5ddfe12a6755490",
	"tools@1":           "05b968d1a8c79c8bf21cb2c38eee7c855d85922b83ae28afe46debe261d48def",
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

// terms is the hash of what decides where the requirements of all profiles apply and whether
// they can be broken.
const terms = "bff4195ace8076840d751e6043423bdfb746f4fe8bb7e7b6f7db79d0261074fd"

// TestTermsOfProfiles checks that no requirement of a profile gets another level, basis,
// revision or transport without notice.
func TestTermsOfProfiles(t *testing.T) {
	sum := sha256.New()
	for _, p := range Profiles() {
		for _, id := range slices.Concat(p.Core, p.Extended) {
			if q := Requirements().Lookup(id); q != nil {
				fmt.Fprintln(sum, p.Name, id, q.Level, q.Bases, q.Revisions, q.Transports)
			}
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != terms {
		t.Errorf("the level, basis, revisions or transports of a requirement have changed, or it was retired, so that the result of a profile may change although the server does not; name the requirement in the table of docs/profiles.md, and write %s here", got)
	}
}

func applies(p *Profile, q *Requirement) bool {
	return slices.ContainsFunc(p.Revisions, func(r Revision) bool {
		return slices.ContainsFunc(p.Transports, func(t Transport) bool { return t.IsDefinedIn(r) && q.AppliesTo(r, t) })
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
	for _, p := range newestVersions(all) {
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
		"a version that is 0": {"core@0", fine, "not a name with a version"},
		"a word as version":   {"core@new", fine, "not a name with a version"},
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
