package wire

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestExcerpt(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc… (4 bytes)"}, {"", 0, ""}, {"a", 0, "… (1 bytes)"},
		{"aé", 2, "a… (3 bytes)"}, {"é", 1, "… (2 bytes)"}, {"a\U0001F600b", 4, "a… (6 bytes)"}, {"a\U0001F600b", 5, "a\U0001F600… (6 bytes)"},
		{"\xff\xfe\xfd", 2, "\xff\xfe… (3 bytes)"}, {"\x80\x80\x80\x80\x80", 4, "\x80\x80\x80\x80… (5 bytes)"}, {"a\x00b", 2, "a\x00… (3 bytes)"},
	} {
		if got := Excerpt(c.s, c.n); got != c.want {
			t.Errorf("Excerpt(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "s"), rapid.IntRange(0, 20).Draw(t, "n")
		got := Excerpt(s, n)
		kept, _, cut := strings.Cut(got, "… (")
		if cut != (len(s) > n) && !strings.Contains(s, "… (") || !utf8.ValidString(got) || !strings.HasPrefix(s, kept) || cut && len(kept) > n {
			t.Fatalf("Excerpt(%q, %d) = %q", s, n, got)
		}
		if cut && len(kept) < n-utf8.UTFMax+1 {
			t.Fatalf("Excerpt(%q, %d) = %q drops more than one character", s, n, got)
		}
	})
}
