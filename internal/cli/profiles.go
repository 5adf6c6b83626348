package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/config"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// parseProfiles returns the profiles with these names, each once. An unknown name is an error.
func parseProfiles(names []string) ([]*spec.Profile, error) {
	var out []*spec.Profile
	for _, name := range names {
		p, err := config.ParseProfile(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out, nil
}

// profileRows returns a row for each profile.
func profileRows() []row {
	var out []row
	for _, p := range spec.Profiles() {
		out = append(out, row{
			id: p.Name, short: fmt.Sprintf("%d core, %d extended", len(p.Core), len(p.Extended)),
			long: revisionNames(spec.NewestFirst(p.Revisions)) + " over " + transportNames(p.Transports), title: p.About,
		})
	}
	return out
}

// explainProfile prints the purpose of a profile, and its requirements.
func (a *app) explainProfile(p *spec.Profile) {
	fmt.Fprintf(a.Out, "%s: a profile\n", p.Name)
	for _, line := range wrap(p.About, 76) {
		fmt.Fprintf(a.Out, "  %s\n", line)
	}
	a.printField("revisions", revisionNames(spec.NewestFirst(p.Revisions)))
	a.printField("transports", transportNames(p.Transports))
	for _, of := range []struct {
		what string
		ids  []string
	}{{"core", p.Core}, {"extended", p.Extended}} {
		fmt.Fprintf(a.Out, "\n%s, %s\n", of.what, countWithNoun(len(of.ids), "requirement", "requirements"))
		for _, id := range of.ids {
			fmt.Fprintf(a.Out, "  %s\n", id)
		}
	}
}

func transportNames(all []spec.Transport) string {
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = string(t)
	}
	return strings.Join(names, ", ")
}
