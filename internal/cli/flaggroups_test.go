package cli

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestEveryFlagOfRunIsInOneGroup(t *testing.T) {
	var grouped, all []string
	for _, g := range runGroups {
		grouped = append(grouped, g.flags...)
	}
	c := (&app{}).runCommand()
	c.InitDefaultHelpFlag()
	c.Flags().VisitAll(func(f *pflag.Flag) { all = append(all, f.Name) })
	slices.Sort(grouped)
	slices.Sort(all)
	if diff := cmp.Diff(all, grouped); diff != "" {
		t.Errorf("flags in groups (-want +got):\n%s", diff)
	}
}
