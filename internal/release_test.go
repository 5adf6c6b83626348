package internal_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// owners match the owner of the repository wherever a file names it: in addresses, in uses of
// the action, in the Homebrew tap, in the scope of the npm packages.
var owners = []*regexp.Regexp{
	regexp.MustCompile(`github\.com/([\w.-]+)/mcp-conform\b`),
	regexp.MustCompile("(?:uses: |`)([\\w.-]+)/mcp-conform@"),
	regexp.MustCompile(`\}/([\w.-]+)/mcp-conform/releases`),
	regexp.MustCompile(`(?m)^\s+owner: (\S+)$`),
	regexp.MustCompile(`@([\w.-]+)/\$(?:os|\{process)`),
}

// named is a list of files that certainly name the owner. They show that the patterns match.
var named = []string{
	"../.github/action/find.sh", "../.github/action/get.sh", "../.github/release/goreleaser.yml", "../.github/release/npm/bin/mcp-conform.js",
	"../.github/release/npm/pack.sh", "../.github/release/npm/package.json", "../README.md", "../docs/ci.md", "../docs/getting-started.md",
	"../docs/go-test.md", "../internal/cli/init.go", "../internal/config/draft.go", "../internal/sdk/recognise.go", "../reporters/sarif.go",
}

// others are folders whose files are generated, or written by others.
var others = []string{".git", ".mcp-conform", ".upstream", "dist", "node_modules", "release-files"}

// ownersIn returns the owners that a text names.
func ownersIn(text string) []string {
	var out []string
	for _, pattern := range owners {
		for _, found := range pattern.FindAllStringSubmatch(text, -1) {
			out = append(out, found[1])
		}
	}
	return out
}

// TestTheOwnerIsThatOfTheModule checks that all files name the owner of the repository that
// go.mod names. Whoever moves the repository changes go.mod, and then what this test lists.
func TestTheOwnerIsThatOfTheModule(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	own := ownersIn(string(mod))
	if len(own) == 0 {
		t.Fatal("go.mod names no owner")
	}
	kinds := []string{".go", ".md", ".yml", ".yaml", ".json", ".sarif", ".sh", ".js", ".mod", ".txtar", ".xml", ""}
	unnamed := slices.Clone(named)
	err = filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && slices.Contains(others, name) {
			return filepath.SkipDir
		}
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 || name == "release_test.go" || !slices.Contains(kinds, filepath.Ext(name)) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found := ownersIn(string(text))
		for _, owner := range slices.Compact(slices.Sorted(slices.Values(found))) {
			if owner != own[0] {
				t.Errorf("%s names the owner %s, go.mod names %s", path, owner, own[0])
			}
		}
		if i := slices.Index(unnamed, filepath.ToSlash(path)); i >= 0 && len(found) > 0 {
			unnamed = slices.Delete(unnamed, i, i+1)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(unnamed) > 0 {
		t.Errorf("no owner was found in %s", strings.Join(unnamed, ", "))
	}
}

func TestOwnersIn(t *testing.T) {
	for text, want := range map[string][]string{
		"see https://github.com/a/mcp-conform.git":                {"a"},
		"github.com/a-b/mcp-conform/cmd/mcp-conform@v1":           {"a-b"},
		"      - uses: a/mcp-conform@v1":                          {"a"},
		"`a/mcp-conform@main`":                                    {"a"},
		"${URL:-x}/a/mcp-conform/releases":                        {"a"},
		"    repository:\n      owner: a\n      name: x\n":        {"a"},
		"\"@a/$os-$cpu\" `@b/${process.platform}`":                {"a", "b"},
		"./cmd/mcp-conform, /tmp/mcp-conform, @types/node@1, x/y": nil,
	} {
		if diff := cmp.Diff(want, ownersIn(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestTheContainerfile checks what a build of the image needs: a base with the Go version of
// go.mod, stages that exist, the package that is built, and an entry point that the image has.
func TestTheContainerfile(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read("../go.mod"))
	if version == nil {
		t.Fatal("go.mod names no version of Go")
	}
	text := read("../.github/release/Containerfile")
	var stages []string
	images := regexp.MustCompile(`(?m)^FROM (\S+)(?: AS (\S+))?$`).FindAllStringSubmatch(text, -1)
	for _, image := range images {
		if tag, ok := strings.CutPrefix(image[1], "golang:"); ok && tag != version[1] {
			t.Errorf("the image is built with Go %s, go.mod names %s", tag, version[1])
		}
		stages = append(stages, image[2])
	}
	if len(images) != 2 || images[1][1] != "scratch" {
		t.Fatalf("the program is not built in one stage and copied to nothing: %q", images)
	}
	copied := regexp.MustCompile(`(?m)^COPY --from=(\S+) \S+ (\S+)$`).FindAllStringSubmatch(text, -1)
	var files []string
	for _, c := range copied {
		if !slices.Contains(stages, c[1]) {
			t.Errorf("there is no stage %s", c[1])
		}
		files = append(files, c[2])
	}
	built := regexp.MustCompile(`(?m)^RUN .*go build .*-o (\S+) (\S+)$`).FindStringSubmatch(text)
	if built == nil {
		t.Fatal("the program is not built")
	}
	if info, err := os.Stat(filepath.Join("..", built[2])); err != nil || !info.IsDir() {
		t.Errorf("there is no package %s", built[2])
	}
	entry := regexp.MustCompile(`(?m)^ENTRYPOINT (.*)$`).FindStringSubmatch(text)
	var words []string
	if entry == nil || json.Unmarshal([]byte(entry[1]), &words) != nil || len(words) != 1 || !slices.Contains(files, words[0]) || words[0] != built[1] {
		t.Errorf("the entry point %q is not the program that was built and copied", entry)
	}
}
