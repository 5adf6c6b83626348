package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheReleaseHasAllManualPages checks that the cask lists every manual page
// except those of completion.
func TestTheReleaseHasAllManualPages(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	if code := invoke([]string{"man", "--dir", dir}, World{Out: &out, Err: &out}); code != ExitKept {
		t.Fatalf("the exit code is %d: %s", code, out.String())
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, page := range pages {
		if name := filepath.Base(page); !strings.Contains(name, "-completion") {
			want = append(want, "man/"+name)
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "..", ".github", "release", "goreleaser.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- man/"); ok {
			got = append(got, "man/"+name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("manual pages in goreleaser.yml (-made +named):\n%s", diff)
	}
}

func TestTextsBecomeRoff(t *testing.T) {
	const text = "Use --this\\:\n\n.a\n  b\n\n  c\nd\n\n  e"
	const want = "Use \\-\\-this\\e:\n.PP\n\\&.a\n.EX\n  b\n\n  c\n.EE\nd\n.PP\n.EX\n  e\n.EE"
	if diff := cmp.Diff(want, roffLines(text)); diff != "" {
		t.Errorf("roff (-want +got):\n%s", diff)
	}
}
