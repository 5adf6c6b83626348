package inventory

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// askingWords matches, for each role, words in names and descriptions which suggest that a tool
// sends the client requests of that role. A wrong guess costs only one call.
var askingWords = map[Role]*lazyregexp.Regexp{
	AsksSampling:    lazyregexp.New(`(?i)sampling|sample[-_ ]?llm|create_?message|\bllms?\b|ask[-_ ]?(the )?(model|client)`),
	AsksElicitation: lazyregexp.New(`(?i)elicit|(ask|send|direct|prompt|request|invite|wait)[-_s ]*(for )?(the )?user`),
	AsksRoots:       lazyregexp.New(`(?i)\broots?\b|[-_]roots?\b|roots?[-_]`),
}

// maxSearched limits how many bytes of a name or a description are searched, because some are
// megabytes long.
const maxSearched = 16 << 10

// AskingTools returns the callable tools that seem to send the client requests of the role's kind,
// such as sampling: first those that the configuration names, or that sent such requests before,
// then those whose names suggest the role, then those whose descriptions do.
func (v *Inventory) AskingTools(role Role) []Tool {
	var known []Tool
	for _, f := range v.usableFixtures(role) {
		t, _ := v.Tool(f.Tool)
		if (f.own || f.learned) && !slices.ContainsFunc(known, t.hasSameName) {
			known = append(known, t)
		}
	}
	isKnown := func(t Tool) bool { return slices.ContainsFunc(known, t.hasSameName) }
	return slices.Concat(known, slices.DeleteFunc(v.suspects(role), isKnown))
}

// suspects returns the callable tools whose names, and then those whose descriptions, suggest that
// they play the role. The result is computed only once, because the list of tools may be long.
func (v *Inventory) suspects(role Role) []Tool {
	v.suspectsOf.Lock()
	defer v.suspectsOf.Unlock()
	all, found := v.suspectsOf.byRole[role]
	if !found {
		all = v.findSuspects(role)
		if v.suspectsOf.byRole == nil {
			v.suspectsOf.byRole = map[Role][]Tool{}
		}
		v.suspectsOf.byRole[role] = all
	}
	return slices.Clone(all)
}

func (v *Inventory) findSuspects(role Role) []Tool {
	var named, described []Tool
	says := func(text string) bool { return askingWords[role].MatchString(text[:min(len(text), maxSearched)]) }
	for _, t := range v.Callable() {
		description, _ := wire.Text(wire.At(t.Raw, "/description"))
		switch {
		case says(t.Name):
			named = append(named, t)
		case says(description):
			described = append(described, t)
		}
	}
	return append(named, described...)
}

func (t Tool) hasSameName(o Tool) bool { return t.Name == o.Name }
