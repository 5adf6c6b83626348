package reporters

import (
	"fmt"
	"slices"
	"strings"
)

// family is a group of entries. The embedded entry represents the group, and same has the other
// entries. Each of these has, in every revision in which it was seen, the same cause as the
// embedded entry.
type family struct {
	entry
	same []entry
}

// groupByCause groups entries by cause. The first entry of a group represents the group. If the
// finding that causes the others is among the entries, it is that first entry.
func groupByCause(es []entry) []family {
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

// sharesAllWith reports whether e shares every one of its causes with root. It returns false if e
// was seen in a revision in which root was not seen, because e must have another cause in that
// revision.
func (e *entry) sharesAllWith(root *entry) bool {
	foreign := func(cause string) bool { return cause == "" || !slices.Contains(root.causes, cause) }
	return len(e.causes) > 0 && !slices.ContainsFunc(e.causes, foreign)
}

// countFindings returns the number of findings in all families.
func countFindings(fs []family) int {
	n := 0
	for i := range fs {
		n += 1 + len(fs[i].same)
	}
	return n
}

// sameShown is the maximum number of findings that are listed below the first
// one of a group.
const sameShown = 8

// terseLines returns the headlines of all entries. Entries with the same headline are merged into
// one line that states their number.
func (c *Console) terseLines(fs []family) []string {
	type line struct{ requirement, place string }
	var all []*entry
	counts := map[line]int{}
	for i := range fs {
		all = append(all, &fs[i].entry)
		for j := range fs[i].same {
			all = append(all, &fs[i].same[j])
		}
	}
	key := func(e *entry) line { return line{e.Outcome.String() + " " + e.Requirement, c.headlinePlace(e)} }
	for _, e := range all {
		counts[key(e)]++
	}
	var out []string
	for _, e := range all {
		k := key(e)
		n := counts[k]
		if n == 0 { // its headline is already there
			continue
		}
		counts[k] = 0
		if n > 1 {
			k.place += fmt.Sprintf(" · %d findings", n)
		}
		out = append(out, c.headline(e, k.place)...)
	}
	return out
}

// linesBelow returns the command that checks whether the finding is fixed, and the
// findings with the same cause, at most sameShown of them.
func (c *Console) linesBelow(f *family) []string {
	var out []string
	if text := replayCommand(&f.Finding); text != "" {
		out = append(out, "  fixed? "+text)
	}
	for i := range f.same {
		e := &f.same[i]
		if i == sameShown {
			out = append(out, "  "+c.paint(dim, fmt.Sprintf("with it  … %s in the reports", countWithNoun(len(f.same)-i, "more finding"))))
			break
		}
		look := outcomeStyles[e.Outcome]
		name := look.mark + " " + strings.ToUpper(e.Outcome.String())
		lead, text := "  "+c.paint(dim, "with it  ")+c.paint(look.color, name)+"  ", clip(e.Requirement+"  "+e.Summary, 3*c.o.Width)
		if c.foldWidth() == 0 {
			out = append(out, lead+text)
			continue
		}
		out = append(out, appendWrapped(lead, width("  with it  "+name)+2, splitWords(text), c.foldWidth(), 11)...)
	}
	return out
}
