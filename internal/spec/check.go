package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spelling"
)

// check returns what is wrong with an entry of the catalogue.
func (q *Requirement) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if q.ID == "" || q.Statement == "" || q.Section == "" || q.Observe == "" {
		bad("id, statement, section and observe must not be empty")
	}
	if want := normalizeID(q.ID); want != q.ID {
		bad("an id has lower-case letters and digits, joined by - and . (did you mean %q?)", want)
	}
	if !slices.Contains([]Level{Must, MustNot, Should, ShouldNot, May}, q.Level) {
		bad("level is %q; it must be MUST, MUST NOT, SHOULD, SHOULD NOT or MAY", q.Level)
	}
	if !slices.Contains([]Testable{Yes, Conditional, No}, q.Testable) {
		bad("testable is %q; it must be yes, conditional or no", q.Testable)
	}
	if len(q.Revisions) == 0 {
		bad("revisions is empty")
	}
	for _, r := range q.Revisions {
		if !Revision(r).IsPublished() {
			bad("revision %q is not published", r)
		}
		if !slices.Contains([]Basis{Keyword, Schema, Incorporated, JSONRPC, Derived}, q.Basis(Revision(r))) {
			bad("basis in %s is %q; it must be keyword, schema, incorporated, json-rpc or derived", r, q.Basis(Revision(r)))
		}
	}
	for r := range q.Bases.per {
		if !slices.Contains(q.Revisions, string(r)) {
			bad("basis names %s, which revisions does not", r)
		}
	}
	for _, t := range q.Transports {
		if !slices.Contains(Transports(), t) {
			bad("transport %q is not known", t)
		}
	}
	for _, need := range q.Needs {
		if !slices.Contains(needs, need) {
			bad("need %q is not known: %s", need, adviseNeed(need))
		}
	}
	for _, t := range q.Traits {
		if !slices.Contains([]Trait{Capacity, Notice, Bytes, Timing, Survival, Walks, Cancels, ProcessEnd}, t) {
			bad("trait %q is not known", t)
		}
	}
	if (q.Why != "") != (q.Fix != "") || q.Fix == "" && (q.Cause != "" || q.Snippets != nil) {
		bad("why and fix are given together; cause and snippets only with them")
	}
	for l := range q.Snippets {
		if !slices.Contains(Languages(), l) {
			bad("the language %q of a snippet is not known", l)
		}
	}
	switch {
	case q.NotJudged != "" && (q.Level == May || q.Testable == No):
		bad("not_judged is given, but no check could judge the requirement: level %s, testable %s", q.Level, q.Testable)
	case q.Level != May && (q.Variations != nil || q.NoVariation != ""):
		bad("variations and no_variation are of a MAY only")
	case q.Variations != nil && q.NoVariation != "":
		bad("variations and no_variation exclude each other")
	}
	return errors.Join(errs...)
}

// normalizeID converts id to the form of a valid id: words of lower-case letters and digits, joined
// by dashes and dots.
func normalizeID(id string) string {
	isOther := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	var parts []string
	for part := range strings.SplitSeq(strings.ToLower(id), ".") {
		if words := strings.FieldsFunc(part, isOther); len(words) > 0 {
			parts = append(parts, strings.Join(words, "-"))
		}
	}
	return strings.Join(parts, ".")
}

func adviseNeed(need string) string {
	if near := spelling.Nearest(need, needs); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "the head of base.yaml explains all"
}
