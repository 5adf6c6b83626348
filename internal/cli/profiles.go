package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/config"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// parseProfiles returns the profiles with these names, each once.
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
		over := make([]string, len(p.Transports))
		for i, t := range p.Transports {
			over[i] = string(t)
		}
		out = append(out, row{
			id: p.Name, short: fmt.Sprintf("%d core, %d extended", len(p.Core), len(p.Extended)),
			long: revisionNames(spec.NewestFirst(p.Revisions)) + " over " + strings.Join(over, " "), title: p.About,
		})
	}
	return out
}
