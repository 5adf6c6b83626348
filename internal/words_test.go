package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// banned are phrases that docs/style.md replaces, by what to write for them.
var banned = map[*regexp.Regexp]string{
	regexp.MustCompile(`\btells? whether\b`):      "reports whether",
	regexp.MustCompile(`\bfor want of\b`):         "because … is missing",
	regexp.MustCompile(`\bheld against\b`):        "counted as a failure, compared with",
	regexp.MustCompile(`\bin vain\b`):             "without a response, until the time-out",
	regexp.MustCompile(`\b(comes?|came) about\b`): "happens, results from",
}

// TestWords holds code and docs against the list. A phrase joins the list once
// none is left of it.
func TestWords(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := entry.Name(); {
		case entry.IsDir() && (name == ".git" || name == "node_modules" || name == "testdata" || name == "transcripts"):
			return filepath.SkipDir
		case entry.IsDir() || name == "words_test.go" || name == "style.md" || !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".md"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range bannedIn(string(text)) {
			t.Errorf("%s: %s", path, found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func bannedIn(text string) []string {
	var out []string
	for phrase, instead := range banned {
		if found := phrase.FindString(text); found != "" {
			out = append(out, `"`+found+`": write `+instead)
		}
	}
	return out
}

// Each phrase of the list is found.
func TestBannedIn(t *testing.T) {
	for _, text := range []string{"It tells whether.", "tell whether", "for want of room", "waited in vain", "it came about", "comes about", "is held against nobody"} {
		if len(bannedIn(text)) != 1 {
			t.Errorf("%q is not found", text)
		}
	}
	if found := bannedIn("It reports whether it came, about noon."); len(found) != 0 {
		t.Errorf("found %q", found)
	}
}
