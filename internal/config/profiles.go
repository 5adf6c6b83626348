package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/spelling"
)

// ParseProfile returns the profile with that name, such as core@1. The error is a
// *target.UsageError that suggests the versions of the profile with the nearest name, or lists all
// profiles.
func ParseProfile(name string) (*spec.Profile, error) {
	if p := spec.LookupProfile(name); p != nil {
		return p, nil
	}
	return nil, unknownProfileError("", name)
}

// checkProfiles checks the names of the profiles.
func (r *reader) checkProfiles(n *yaml.Node) error {
	for _, e := range elements(n) {
		if spec.LookupProfile(e.Value) == nil {
			return unknownProfileError(r.location(e), e.Value)
		}
	}
	return nil
}

func unknownProfileError(where, name string) error {
	advice := "did you mean " + strings.Join(nearestProfiles(name), " or ") + "? mcp-conform list --profiles shows all"
	if len(nearestProfiles(name)) == 0 {
		var all []string
		for _, p := range spec.Profiles() {
			all = append(all, p.Name)
		}
		advice = "the profiles are " + strings.Join(all, ", ")
	}
	return usageError(where, fmt.Sprintf("there is no profile %s", quote(name)), advice)
}

// nearestProfiles returns all versions of the profile that was probably meant, or nil if the name
// resembles none.
func nearestProfiles(name string) []string {
	base, _, _ := strings.Cut(name, "@")
	var bases, out []string
	for _, p := range spec.Profiles() {
		bases = append(bases, p.Base())
	}
	if !slices.Contains(bases, base) {
		base = spelling.Nearest(base, bases)
	}
	for _, p := range spec.Profiles() {
		if p.Base() == base {
			out = append(out, p.Name)
		}
	}
	return out
}
