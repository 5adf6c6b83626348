package spec

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// These limits keep a remedy readable: short sentences, a fix that fits on one console line
// after its label, and code that a terminal does not wrap.
const (
	remedyWords   = 20
	fixColumns    = 87
	snippetLines  = 10
	snippetColumn = 76
)

func TestRemediesAreShort(t *testing.T) {
	explained := 0
	for _, q := range Requirements().All() {
		if q.Fix == "" {
			continue
		}
		explained++
		for name, text := range map[string]string{"why": q.Why, "cause": q.Cause, "fix": q.Fix} {
			if complaint := sentence(text); text != "" && complaint != "" {
				t.Errorf("%s: %s %s: %q", q.ID, name, complaint, text)
			}
		}
		if n := utf8.RuneCountInString(q.Fix); n > fixColumns {
			t.Errorf("%s: fix has %d characters, more than %d", q.ID, n, fixColumns)
		}
		for l, text := range q.Snippets {
			lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
			if len(lines) > snippetLines {
				t.Errorf("%s: the snippet in %s has %d lines, more than %d", q.ID, l, len(lines), snippetLines)
			}
			for _, line := range lines {
				if utf8.RuneCountInString(line) > snippetColumn || strings.Contains(line, "\t") {
					t.Errorf("%s: a line of the snippet in %s is too wide, or has a tab: %q", q.ID, l, line)
				}
			}
		}
	}
	if explained < 60 {
		t.Errorf("only %d requirements have a fix", explained)
	}
}

// sentence returns what is wrong with a text that must be one short sentence, or "".
func sentence(text string) string {
	switch {
	case len(strings.Fields(text)) > remedyWords:
		return "has more than 20 words"
	case !strings.HasSuffix(text, "."):
		return "does not end with a period"
	case strings.ContainsAny(text, "\n"):
		return "has several lines"
	}
	return ""
}

func TestSentence(t *testing.T) {
	for text, right := range map[string]bool{
		"Answer ping with {}.":                true,
		"Answer ping with {}":                 false,
		"Answer.\nAgain.":                     false,
		strings.Repeat("word ", 20) + "more.": false,
	} {
		if (sentence(text) == "") != right {
			t.Errorf("%q: %q", text, sentence(text))
		}
	}
}
