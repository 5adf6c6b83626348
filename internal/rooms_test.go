package internal_test

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRoomsAreTold keeps docs/architecture.md true: whoever looks for something
// looks there first.
func TestRoomsAreTold(t *testing.T) {
	page, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	told := roomsIn(string(page))
	if len(told) < 5 {
		t.Fatalf("only %d rooms were read from docs/architecture.md", len(told))
	}
	for _, room := range told {
		if info, err := os.Stat(filepath.Join("..", filepath.FromSlash(room))); err != nil || !info.IsDir() {
			t.Errorf("docs/architecture.md tells of %s, which is not a folder", room)
		}
	}
	packages, err := packagesBelow("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range packages {
		if !standsIn(told, pkg) {
			t.Errorf("docs/architecture.md does not tell of %s, nor of a folder above it", pkg)
		}
	}
}

// TestFunctionsOfTheWalks keeps the two walks of docs/architecture.md true: each
// function that they name is in a package of its name, or of the folder named.
func TestFunctionsOfTheWalks(t *testing.T) {
	page, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	packages, err := packagesBelow("..")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]string{} // the functions of a package, by its folder
	for _, pkg := range packages {
		files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(pkg), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			declared[pkg] += string(text)
		}
	}
	named := 0
	for _, row := range regexp.MustCompile(`(?m)^\| \d+ \| (.*?) \|`).FindAllStringSubmatch(string(page), -1) {
		folder := ""
		if _, rest, ok := strings.Cut(row[1], " in `"); ok {
			folder = strings.TrimSuffix(rest, "`")
		}
		for _, f := range regexp.MustCompile("`(?:\\((\\*?)(\\w+)\\)|(\\w+))\\.(\\w+)`").FindAllStringSubmatch(row[1], -1) {
			named++
			want := regexp.MustCompile(`(?m)^func ` + f[4] + `\(`)
			if f[2] != "" {
				want = regexp.MustCompile(`(?m)^func \(\w+ ` + regexp.QuoteMeta(f[1]+f[2]) + `\) ` + f[4] + `\(`)
			}
			found := slices.ContainsFunc(packages, func(pkg string) bool {
				return (pkg == folder || folder == "" && path.Base(pkg) == f[3] || f[3] != "" && path.Base(pkg) == f[3]) && want.MatchString(declared[pkg])
			})
			if !found {
				t.Errorf("docs/architecture.md names %s, which %s does not have", f[0], cmp.Or(folder, f[3]))
			}
		}
	}
	if named < 15 {
		t.Errorf("only %d functions were read from docs/architecture.md", named)
	}
}

func TestRoomsIn(t *testing.T) {
	told := roomsIn("# Title\n\n    a/b/    one thing;\n            c/ below it\n    d/  another\n\nand e/ is text\n")
	if want := []string{"a/b", "d"}; !slices.Equal(told, want) {
		t.Errorf("got %v, want %v", told, want)
	}
	for pkg, want := range map[string]bool{"d": true, "d/e/f": true, "a/b": true, "a": false, "a/c": false, "internal": true} {
		if got := standsIn(told, pkg); got != want {
			t.Errorf("%s: got %v, want %v", pkg, got, want)
		}
	}
}

// roomsIn returns the folders that begin the lines of an indented block.
func roomsIn(page string) []string {
	var out []string
	for line := range strings.Lines(page) {
		rest, indented := strings.CutPrefix(line, "    ")
		name, _, _ := strings.Cut(rest, " ")
		if room, ok := strings.CutSuffix(name, "/"); ok && indented {
			out = append(out, room)
		}
	}
	return out
}

// standsIn reports whether a package, or a folder above it, is one of the rooms.
// The tests that hold all of them together are no room.
func standsIn(told []string, pkg string) bool {
	if pkg == "internal" {
		return true
	}
	for ; pkg != "."; pkg = path.Dir(pkg) {
		if slices.Contains(told, pkg) {
			return true
		}
	}
	return false
}

// packagesBelow returns the folders of the module that hold Go files, tests
// among them.
func packagesBelow(root string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && leftOut(name, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(name))
		out = append(out, filepath.ToSlash(folder))
		return err
	})
	slices.Sort(out)
	return slices.Compact(out), err
}
