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

// TestPackagesAreListed checks that docs/architecture.md lists every package, and no folder that
// does not exist.
func TestPackagesAreListed(t *testing.T) {
	page, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := foldersIn(string(page))
	if len(listed) < 5 {
		t.Fatalf("only %d folders were read from docs/architecture.md", len(listed))
	}
	for _, folder := range listed {
		if info, err := os.Stat(filepath.Join("..", filepath.FromSlash(folder))); err != nil || !info.IsDir() {
			t.Errorf("docs/architecture.md lists %s, which is not a folder", folder)
		}
	}
	packages, err := packagesBelow("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range packages {
		if !isListed(listed, pkg) {
			t.Errorf("docs/architecture.md lists neither %s nor a folder above it", pkg)
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

func TestFoldersIn(t *testing.T) {
	listed := foldersIn("# Title\n\n    a/b/    one thing;\n            c/ below it\n    d/  another\n\nand e/ is text\n")
	if want := []string{"a/b", "d"}; !slices.Equal(listed, want) {
		t.Errorf("got %v, want %v", listed, want)
	}
	for pkg, want := range map[string]bool{"d": true, "d/e/f": true, "a/b": true, "a": false, "a/c": false, "internal": true} {
		if got := isListed(listed, pkg); got != want {
			t.Errorf("%s: got %v, want %v", pkg, got, want)
		}
	}
}

// foldersIn returns the folders that begin the lines of an indented block.
func foldersIn(page string) []string {
	var out []string
	for line := range strings.Lines(page) {
		rest, indented := strings.CutPrefix(line, "    ")
		name, _, _ := strings.Cut(rest, " ")
		if folder, ok := strings.CutSuffix(name, "/"); ok && indented {
			out = append(out, folder)
		}
	}
	return out
}

// isListed reports whether a package, or a folder above it, is listed.
// The package internal, which holds only tests of the whole module, need not be listed.
func isListed(listed []string, pkg string) bool {
	if pkg == "internal" {
		return true
	}
	for ; pkg != "."; pkg = path.Dir(pkg) {
		if slices.Contains(listed, pkg) {
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
