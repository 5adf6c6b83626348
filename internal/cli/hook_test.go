package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// A hookFile is a .pre-commit-config.yaml, with the keys that the documentation uses.
type hookFile struct {
	Repos []struct {
		Repo  string `yaml:"repo"`
		Hooks []struct {
			ID            string   `yaml:"id"`
			Name          string   `yaml:"name"`
			Language      string   `yaml:"language"`
			Dependencies  []string `yaml:"additional_dependencies"`
			Entry         string   `yaml:"entry"`
			PassFilenames bool     `yaml:"pass_filenames"`
			AlwaysRun     bool     `yaml:"always_run"`
			Stages        []string `yaml:"stages"`
		} `yaml:"hooks"`
	} `yaml:"repos"`
}

// TestTheDocumentedHookRuns reads the hook for pre-commit in docs/ci.md, and runs its command
// line on a server that conforms and on one that does not.
func TestTheDocumentedHookRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "ci.md"))
	if err != nil {
		t.Fatal(err)
	}
	var file hookFile
	decoder := yaml.NewDecoder(strings.NewReader(blockBelow(string(page), "## pre-commit")))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	if len(file.Repos) != 1 || file.Repos[0].Repo != "local" || len(file.Repos[0].Hooks) != 1 {
		t.Fatalf("not one local hook: %+v", file)
	}
	hook := file.Repos[0].Hooks[0]
	if hook.ID == "" || hook.Name == "" || hook.Language != "golang" || hook.PassFilenames || !hook.AlwaysRun {
		t.Errorf("pre-commit would not run it once as a program of Go: %+v", hook)
	}
	var packages []string
	for _, dependency := range hook.Dependencies {
		name, version, _ := strings.Cut(dependency, "@")
		packages = append(packages, name)
		if !strings.HasPrefix(version, "v") || strings.Count(version, ".") != 2 {
			t.Errorf("%s names no version; pre-commit keeps what it built", dependency)
		}
	}
	if diff := cmp.Diff([]string{"github.com/mcp-conform/mcp-conform/cmd/mcp-conform"}, packages); diff != "" {
		t.Errorf("what is installed (-want +got):\n%s", diff)
	}
	words := strings.Fields(hook.Entry)
	end := slices.Index(words, "--")
	if end < 2 || words[0] != "mcp-conform" {
		t.Fatalf("the entry %q is not mcp-conform with a server after --", hook.Entry)
	}
	flags := append(slices.Clone(words[1:end]), "--no-config", "--revision", "2025-11-25", "--focus", "base.notification-no-response", "--")
	for _, c := range []struct {
		server string
		want   int
	}{
		{"mcp-conform serve", ExitKept},
		{"mcp-conform serve --fault base.notification-no-response/unknown-refused", ExitBroken},
	} {
		command := exec.CommandContext(t.Context(), words[0], append(slices.Clone(flags), strings.Fields(c.server)...)...)
		out, err := command.CombinedOutput()
		if command.ProcessState == nil {
			t.Fatal(err)
		}
		if code := command.ProcessState.ExitCode(); code != c.want {
			t.Errorf("%s: the exit code is %d, not %d\n%s", c.server, code, c.want, out)
		}
	}
}

// blockBelow returns the first indented block below a heading of a page, unindented.
func blockBelow(page, heading string) string {
	_, text, _ := strings.Cut(page, "\n"+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var out strings.Builder
	for line := range strings.Lines(text) {
		if code, ok := strings.CutPrefix(line, "    "); ok {
			out.WriteString(code)
		} else if out.Len() > 0 {
			break
		}
	}
	return out.String()
}
