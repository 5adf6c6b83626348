package reporters

import (
	"fmt"
	"slices"
	"strings"
)

// family is an entry, and those that have the same cause in all revisions in
// which they were seen.
type family struct {
	entry
	same []entry
}

// families groups entries by their cause. The first of a group names it, which
// is the root wherever that is listed.
func families(es []entry) []family {
	var out []family
	for i := range es {
		e := &es[i]
		at := slices.IndexFunc(out, func(f family) bool { return e.sharesAllWith(&f.entry) })
		if at < 0 {
			out = append(out, family{entry: *e})
		} else {
			out[at].same = append(out[at].same, *e)
		}
	}
	return out
}

// sharesAllWith reports whether each cause of e is one of the root's. What was
// seen by itself in a revision has one of its own there.
func (e *entry) sharesAllWith(root *entry) bool {
	foreign := func(cause string) bool { return cause == "" || !slices.Contains(root.causes, cause) }
	return len(e.causes) > 0 && !slices.ContainsFunc(e.causes, foreign)
}

// size is how many findings the families have together.
func size(fs []family) int {
	n := 0
	for i := range fs {
		n += 1 + len(fs[i].same)
	}
	return n
}

// sameShown is how many findings of a group are shown below the first.
const sameShown = 8

// familyLines are all lines on a family.
func (c *Console) familyLines(f *family) []string {
	if !c.o.Terse {
		return slices.Concat(c.entryLines(&f.entry), c.linesBelow(f))
	}
	out := c.headline(&f.entry, c.where(&f.entry))
	for i := range f.same {
		out = append(out, c.headline(&f.same[i], c.where(&f.same[i]))...)
	}
	return out
}

// linesBelow show how to check whether the finding above is fixed, and the
// findings that have the same cause, a line each.
func (c *Console) linesBelow(f *family) []string {
	var out []string
	if text := replayCommand(&f.Finding); text != "" {
		out = append(out, "  "+text)
	}
	for i := range f.same {
		e := &f.same[i]
		if i == sameShown {
			out = append(out, "  "+c.paint(dim, fmt.Sprintf("with it  … %s in the reports", count(len(f.same)-i, "more finding"))))
			break
		}
		look := looks[e.Outcome]
		name := look.mark + " " + strings.ToUpper(e.Outcome.String())
		text := "  " + e.Requirement + "  " + e.Summary
		room := c.o.Width - width("  with it  "+name)
		out = append(out, "  "+c.paint(dim, "with it  ")+c.paint(look.color, name)+clip(text, room))
	}
	return out
}
