package reporters

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// firstInvisible finds the first character that must not reach a terminal. at
// is -1 if there is none.
func firstInvisible(s string) (r rune, at int) {
	for i, r := range s {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Bidi_Control) {
			return r, i
		}
	}
	return 0, -1
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"plain ~ é 漢字 \u00a0":      "plain ~ é 漢字 \u00a0",
		"a\nb\tc\rd":               `a\nb\tc\rd`,
		"\x1b[31m":                 `\u001b[31m`,
		"\x00\x7f\u009b":           `\u0000\u007f\u009b`,
		"\u202e\u200f\u061c":       `\u202e\u200f\u061c`,
		"\xff\xc3":                 `\xff\xc3`,
		"\ufffd":                   "\ufffd",
		"\U000e0041":               `\u{e0041}`,
		`{"a":"\u001b"} \\ ]]>`:    `{"a":"\u001b"} \\ ]]>`,
		"\u2028\ufeff\ufffe\ue000": `\u2028\ufeff\ufffe\ue000`,
	} {
		if diff := cmp.Diff(want, Visible(in)); diff != "" {
			t.Errorf("Visible(%q):\n%s", in, diff)
		}
	}
}

func TestVisibleLaws(t *testing.T) {
	anything := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.StringOf(rapid.RuneFrom(nil, unicode.Cc, unicode.Cf, unicode.Bidi_Control, unicode.Zl)))
	rapid.Check(t, func(t *rapid.T) {
		in := anything.Draw(t, "in")
		out := Visible(in)
		if r, at := firstInvisible(out); at >= 0 || !utf8.ValidString(out) {
			t.Fatalf("Visible(%q) is %q, with %U", in, out, r)
		}
		if Visible(out) != out {
			t.Fatalf("Visible alters its own result %q", out)
		}
	})
	ordinary := rapid.StringOf(rapid.RuneFrom([]rune(" "), unicode.L, unicode.N, unicode.P, unicode.S, unicode.M))
	rapid.Check(t, func(t *rapid.T) {
		if in := ordinary.Draw(t, "in"); Visible(in) != in {
			t.Fatalf("Visible(%q) is %q", in, Visible(in))
		}
	})
}

func TestCutTextsStayInTheirColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("abcdefgh  漢\n")), 0, 600, -1)).Draw(t, "in")
		columns := rapid.IntRange(30, 120).Draw(t, "columns")
		lines := rapid.IntRange(1, 4).Draw(t, "lines")
		size := rapid.Int64Range(0, 1<<40).Draw(t, "size")
		got := append(wrap(in, columns, lines), clip(in, columns), excerpt(in, size, rapid.Bool().Draw(t, "complete"), columns))
		if len(got) > lines+2 {
			t.Fatalf("%d lines, want at most %d", len(got)-2, lines)
		}
		for _, line := range got {
			if width(line) > columns {
				t.Fatalf("%q takes %d columns of %d", line, width(line), columns)
			}
		}
		if v := Visible(in); width(v) <= columns {
			if diff := cmp.Diff([]string{v}, wrap(in, columns, lines)); diff != "" {
				t.Fatalf("a text that fits was changed:\n%s", diff)
			}
		}
	})
}

func TestWrapAndExcerpt(t *testing.T) {
	if diff := cmp.Diff([]string{"one two", "three four", "five six s…"}, wrap("one two three four five six seven", 11, 3)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("abc… (123 bytes)", excerpt("abc", 123, false, 40)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("AAAAAAA… (50 bytes)", excerpt(strings.Repeat("A", 50), 50, true, 19)); diff != "" {
		t.Error(diff)
	}
	if got := head("aé", 2); got != "a" {
		t.Errorf("head split a character: %q", got)
	}
}

func TestShellQuote(t *testing.T) {
	for want, argv := range map[string][]string{
		"mcp-conform run --timeout=5s -- ./a,b": {"mcp-conform", "run", "--timeout=5s", "--", "./a,b"},
		`a '' 'b c' '~' '*' '$X'`:               {"a", "", "b c", "~", "*", "$X"},
		`'it'\''s'`:                             {"it's"},
		`'A=b' c=d`:                             {"A=b", "c=d"},
		"":                                      {},
	} {
		if diff := cmp.Diff(want, ShellQuote(argv)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestShellSplitsBackWhatWasQuoted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("arguments are not bytes on Windows")
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skipf("there is no sh: %v", err)
	}
	word := rapid.OneOf(
		rapid.StringOf(rapid.RuneFrom([]rune("ab'\"\\$`!*?~#&;|<>(){}[]^=%-\n\t é"))),
		rapid.Map(rapid.SliceOf(rapid.ByteRange(1, 255)), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		argv := rapid.SliceOfN(word, 1, 8).Draw(t, "argv")
		line := ShellQuote(append([]string{"printf", `%s\0`}, argv...))
		cmd := exec.Command(sh, "-c", line)
		cmd.Env = []string{"LC_ALL=C"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("sh -c %q: %v: %s", line, err, out)
		}
		got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if diff := cmp.Diff(argv, got); diff != "" {
			t.Fatalf("sh read %q otherwise:\n%s", line, diff)
		}
	})
}

func TestColorAllowed(t *testing.T) {
	for _, c := range []struct {
		goos string
		env  map[string]string
		want bool
	}{
		{"linux", nil, true},
		{"linux", map[string]string{"NO_COLOR": "1"}, false},
		{"linux", map[string]string{"TERM": "dumb"}, false},
		{"windows", nil, false},
		{"windows", map[string]string{"WT_SESSION": "x"}, true},
		{"windows", map[string]string{"WT_SESSION": "x", "NO_COLOR": "1"}, false},
	} {
		if got := colorAllowed(c.goos, func(k string) string { return c.env[k] }); got != c.want {
			t.Errorf("%s %v: %t", c.goos, c.env, got)
		}
	}
}

func TestViewIsCenteredOnOffense(t *testing.T) {
	long := strings.Repeat("a", 300) + "OFFENCE" + strings.Repeat("b", 300)
	for _, c := range []struct {
		name             string
		e                verdict.Evidence
		columns          int
		offends, exactly string
	}{
		{"in the middle", verdict.Evidence{Text: long, Mark: &verdict.Span{From: 300, To: 307}}, 60, "OFFENCE", ""},
		{"narrow", verdict.Evidence{Text: long, Mark: &verdict.Span{From: 300, To: 307}}, 36, "OFFENCE", ""},
		{"at the end", verdict.Evidence{Text: long, Mark: &verdict.Span{From: 600, To: 607}}, 60, "bbbbbbb", ""},
		{"at the beginning", verdict.Evidence{Text: long, Mark: &verdict.Span{From: 0, To: 3}}, 60, "aaa", ""},
		{"longer than the line", verdict.Evidence{Text: long, Mark: &verdict.Span{From: 300, To: 600}}, 40, "OFFENCEbbbbbbbbbbbbbbbbbb", ""},
		{"escapes before it", verdict.Evidence{Text: strings.Repeat("\x01", 20) + "OFFENCE", Mark: &verdict.Span{From: 20, To: 27}}, 40, "OFFENCE", ""},
		{"wide characters before it", verdict.Evidence{Text: strings.Repeat("世", 40) + "OFFENCE", Mark: &verdict.Span{From: 120, To: 127}}, 40, "OFFENCE", ""},
		{"of a longer frame", verdict.Evidence{Text: long, Size: 9000, Skipped: 5000, Mark: &verdict.Span{From: 300, To: 307}}, 60, "OFFENCE", ""},
		{"all of a short one", verdict.Evidence{Text: "a OFFENCE b", Mark: &verdict.Span{From: 2, To: 9}}, 60, "OFFENCE", "a OFFENCE b"},
		{"a short end of a longer frame", verdict.Evidence{Text: "a OFFENCE", Size: 109, Skipped: 100, Mark: &verdict.Span{From: 2, To: 9}}, 60, "OFFENCE", "… a OFFENCE (109 bytes)"},
		{"no part of it", verdict.Evidence{Text: long}, 40, "", strings.Repeat("a", 27) + "… (607 bytes)"},
		{"a mark beyond the text", verdict.Evidence{Text: "abc", Mark: &verdict.Span{From: 7, To: 9}}, 40, "", "abc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := viewOf(&c.e, c.columns)
			if v.offends != c.offends {
				t.Errorf("the offending part is shown as %q, want %q, in %q", v.offends, c.offends, v)
			}
			if c.exactly != "" && v.String() != c.exactly {
				t.Errorf("got %q, want %q", v, c.exactly)
			}
			if n := width(v.String()); n > c.columns {
				t.Errorf("%q takes %d columns of %d", v, n, c.columns)
			}
		})
	}
}
