package reporters

import (
	"slices"
	"strings"
)

// A section is a part of the list of findings: those of the server itself, or those that are known
// in its SDK.
type section struct {
	heading  string // "" if no finding is known in an SDK, so that there is one section
	families []family
}

// sectionsOf divides families, which are in the order of a list, into sections.
func sectionsOf(fs []family) []section {
	var own, sdk section
	var names []string
	for i := range fs {
		f := &fs[i]
		if f.SDK == nil {
			own.families = append(own.families, *f)
			continue
		}
		sdk.families = append(sdk.families, *f)
		if !slices.Contains(names, f.SDK.Name) {
			names = append(names, f.SDK.Name)
		}
	}
	if len(sdk.families) > 0 {
		own.heading = "findings of the server itself"
		sdk.heading = "findings known in its SDK, " + strings.Join(names, ", ")
	}
	return slices.DeleteFunc([]section{own, sdk}, func(s section) bool { return len(s.families) == 0 })
}
