package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// percentAll formats every byte of s, for example as %XX.
func percentAll(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

// alternate applies f to every other byte.
func alternate(s string, f func(c byte) string) string {
	var b strings.Builder
	for i := range len(s) {
		if i%2 == 0 {
			b.WriteString(f(s[i]))
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// spelled returns the spellings of a text that occur in outputs.
func spelled(s string) map[string]string {
	quoted, _ := json.Marshal(s)
	twice, _ := json.Marshal(string(quoted))
	var asXML bytes.Buffer
	_ = xml.EscapeText(&asXML, []byte(s))
	units := func(format string) string {
		var b strings.Builder
		for _, r := range s {
			fmt.Fprintf(&b, format, r)
		}
		return b.String()
	}
	utf16s := func(format string) string {
		var b strings.Builder
		for _, u := range utf16.Encode([]rune(s)) {
			fmt.Fprintf(&b, format, u)
		}
		return b.String()
	}
	out := map[string]string{
		"plain":           s,
		"percent":         percentAll(s, "%%%02X"),
		"percent lower":   percentAll(s, "%%%02x"),
		"percent partly":  alternate(s, func(c byte) string { return fmt.Sprintf("%%%02x", c) }),
		"percent twice":   percentAll(s, "%%25%02X"),
		"query":           url.QueryEscape(s),
		"path":            url.PathEscape(s),
		"JSON":            string(quoted),
		"JSON in JSON":    string(twice),
		"JSON escapes":    utf16s(`\u%04x`),
		"JSON upper":      utf16s(`\u%04X`),
		"Go":              strconv.Quote(s),
		"Go bytes":        percentAll(s, `\x%02x`),
		"octal":           percentAll(s, `\%03o`),
		"HTML":            html.EscapeString(s),
		"XML":             asXML.String(),
		"entities":        units("&#%d;"),
		"entities in hex": units("&#x%x;"),
		"JSON in HTML":    html.EscapeString(string(quoted)),
		"hex":             hex.EncodeToString([]byte(s)),
		"hex upper":       strings.ToUpper(hex.EncodeToString([]byte(s))),
	}
	for shift := range 3 {
		for name, e := range map[string]*base64.Encoding{"std": base64.StdEncoding, "url": base64.URLEncoding} {
			coded := e.EncodeToString([]byte("abc"[:shift] + s + "xyz"[:shift]))
			out[fmt.Sprintf("base64 %s %d", name, shift)] = coded
			out[fmt.Sprintf("base64 %s %d in a URL", name, shift)] = url.QueryEscape(coded)
			out[fmt.Sprintf("base64 %s %d in base64", name, shift)] = base64.StdEncoding.EncodeToString([]byte("<" + coded + ">"))
			out[fmt.Sprintf("hex in base64 %s %d", name, shift)] = e.EncodeToString([]byte("abc"[:shift] + hex.EncodeToString([]byte(s))))
			out[fmt.Sprintf("query in base64 %s %d", name, shift)] = e.EncodeToString([]byte("abc"[:shift] + url.QueryEscape(s) + "xyz"[:shift]))
			out[fmt.Sprintf("JSON in base64 %s %d", name, shift)] = e.EncodeToString([]byte("abc"[:shift] + string(quoted)))
		}
	}
	return out
}

// held reports whether the secret is still in the text, or in one of its
// unescaped forms.
func held(clean, secret string) bool {
	texts := []string{clean}
	for range mostLevels {
		if next, _ := unescape([]byte(texts[len(texts)-1])); next != nil {
			texts = append(texts, string(next))
		}
	}
	for _, text := range texts {
		if strings.Contains(text, secret) {
			return true
		}
	}
	return false
}

func TestEverySpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.OneOf(
			rapid.StringMatching(`[A-Za-z0-9_-]{5,10}[0-9][A-Za-z][A-Za-z0-9_-]{5,30}`),
			rapid.StringMatching(`[ -~]{4}[0-9][A-Za-z#"<&%\\/+= éß€😀]{4,20}[0-9]x`),
		).Filter(func(s string) bool {
			return strings.TrimSpace(s) == s && !strings.Contains(Mark, s) && !isWordOrNumber(s)
		}).Draw(t, "secret")
		s := New(secret)
		before := rapid.SampledFrom([]string{"", " ", "a", "=", `\`, `\\`, "%", "&", "&am", strings.Repeat("x", window-10)}).Draw(t, "before")
		for name, text := range spelled(secret) {
			if strings.HasPrefix(name, "base64") && before != "" && before != " " && before != "=" {
				continue // the text before it would be part of the base64
			}
			clean := s.RedactText(before + text)
			if clean == before+text || held(clean, secret) || strings.HasPrefix(name, "base64") && !strings.Contains(clean, Mark) {
				t.Fatalf("%s: %.200q became %.200q", name, before[max(0, len(before)-20):]+text, clean[max(0, len(before)-20):])
			}
			if again := s.RedactText(clean); strings.Count(again, Mark) != strings.Count(clean, Mark) {
				t.Fatalf("%s: %q became %q", name, clean, again)
			}
		}
	})
}

// TestDocumentsStayWellFormed checks that JSON and XML stay well-formed.
func TestDocumentsStayWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-z0-9][a-z&;\\u0-9#<]{4,6}[0-9]"?[a-z&;\\nu#<]{2,6}[a-z0-9]`).Draw(t, "secret")
		at := rapid.IntRange(1, len(secret)-1).Draw(t, "at")
		piece := rapid.SampledFrom([]string{secret, secret[:at], secret[at:], `\`, `"`, "\n", "&", "&amp;", "<b>", "a", "é", "%25", " "})
		texts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "") }), 1, 4).Draw(t, "texts")
		s := New(secret)
		var out bytes.Buffer
		w := s.Writer(&out)
		if err := json.NewEncoder(w).Encode(texts); err != nil {
			t.Fatal(err)
		}
		var back []string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil {
			t.Fatalf("%q: %s: %v", secret, out.Bytes(), err)
		}
		for _, text := range back {
			if strings.Contains(text, secret) {
				t.Fatalf("%q is in %q", secret, text)
			}
		}
		out.Reset()
		type doc struct {
			Text []string `xml:"t"`
			Attr string   `xml:"a,attr"`
		}
		// A backslash before the closing quote of an attribute looks like an escaped
		// quote of JSON, so replacing a secret with a quote may remove that quote.
		attr := strings.TrimRight(texts[0], `\`)
		if err := xml.NewEncoder(w).Encode(doc{texts, attr}); err != nil {
			t.Fatal(err)
		}
		var parsed doc
		if err := xml.Unmarshal(out.Bytes(), &parsed); err != nil {
			t.Fatalf("%q: %s: %v", secret, out.Bytes(), err)
		}
		for _, text := range parsed.Text {
			if strings.Contains(text, secret) {
				t.Fatalf("%q is in %q", secret, text)
			}
		}
	})
}

func TestText(t *testing.T) {
	s := New("swordfish-77x", "plainword", "123456789", "two words 4u", "a\nprivate-key-0x1\n-----END-----")
	for text, want := range map[string]string{
		"nothing":                   "nothing",
		"a swordfish-77x b":         "a REDACTED b",
		"cut: swordfish-7…":         "cut: REDACTED…",
		"…dfish-77x":                "…REDACTED",
		"swordfish":                 "swordfish", // words alone are too common
		"it is plainword.":          "it is REDACTED.",
		"plainwor":                  "plainwor",
		"n=123456789":               "n=REDACTED",
		"?q=two+words+4u":           "?q=REDACTED",
		"private-key-0x1":           "REDACTED",
		`C:\swordfish-77x`:          `C:REDACTED`, // in JSON the backslash would escape the mark
		"&quot;swordfish-77x&quot;": "&quot;REDACTED&quot;",
	} {
		if diff := cmp.Diff(want, s.RedactText(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	var out bytes.Buffer
	if _, err := fmt.Fprint(s.Writer(&out), "plainword 123456789 swordfish-77x"); err != nil {
		t.Fatal(err)
	}
	if want := "plainword 123456789 REDACTED"; out.String() != want {
		t.Errorf("the writer wrote %q", out.String())
	}
	if got := (*Secrets)(nil).RedactText("x"); got != "x" {
		t.Errorf("nil made %q", got)
	}
}

// TestLongSecretsInShortParts checks that nothing longer than certainPart remains of a long
// secret that is cut into lines or frames, as by the commands base64 and xxd.
func TestLongSecretsInShortParts(t *testing.T) {
	var secret strings.Builder
	for i := range 40 {
		fmt.Fprintf(&secret, "eyJ%dx%c.", i*7919, 'a'+i%26)
	}
	s := New(secret.String())
	letters := strings.Repeat("qwertyuiopasdfghjkl", 20)
	s.Add(letters)
	coded := base64.StdEncoding.EncodeToString([]byte(secret.String()))
	for name, c := range map[string]struct {
		text string
		line int
	}{
		"plain":   {secret.String(), 100},
		"letters": {letters, 50},
		"base64":  {coded, 76},
		"base64u": {strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(secret.String())), "="), 64},
		"hex":     {hex.EncodeToString([]byte(secret.String())), 60},
	} {
		for at := 0; at+c.line <= len(c.text); at += c.line {
			if part := c.text[at : at+c.line]; s.RedactText(part) != Mark {
				t.Errorf("%s: of %q remains %q", name, part, s.RedactText(part))
			}
		}
	}
}

func TestGiven(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        []string
	}{
		{"DEBUG", "true", nil},
		{"LOG_LEVEL", "warning", nil},
		{"NODE_ENV", "production", nil},
		{"PORT", "3000", nil},
		{"PORT", "{port}", nil},
		{"TIMEOUT", "1500ms", nil},
		{"DATA", "/srv/data/store.db", nil},
		{"DATA", `C:\data\x`, nil},
		{"LANG", "en_US.UTF-8", nil},
		{"HOST", "localhost:8080", nil},
		{"HOST", "127.0.0.1", nil},
		{"HOST", "db.internal:5432", nil},
		{"Accept", "application/json, text/event-stream", nil},
		{"MCP-Protocol-Version", "2025-11-25", nil},
		{"URL", "https://example.com/a/b?x=1", nil},
		{"ANY", "abc", nil},
		{"ANY", "swordfish", []string{"swordfish"}},
		{"ANY", "a-b-c-d-1", []string{"a-b-c-d-1"}},
		{"ANY", "12345678", []string{"12345678"}},
		{"ANY", "{\"a\": 1}", []string{"{\"a\": 1}"}},
		{"TOKEN", "x1y2", []string{"x1y2"}},
		{"TOKEN", "debug", nil},
		{"PWD", "/home/me/project", nil},
		{"Authorization", "Bearer abcdef1", []string{"abcdef1"}},
		{"Authorization", "Basic dXNlcjpwYXNzd29yZDE=", []string{"dXNlcjpwYXNzd29yZDE=", "user:password1", "password1"}},
		{"Cookie", "sid=abcdef1; lang=de", []string{"sid=abcdef1; lang=de", "abcdef1"}},
		{"DATABASE_URL", "postgres://someone:pa55word@h/db", []string{"someone:pa55word", "pa55word", "someone"}},
		{"URL", "https://h/mcp?api_key=s3cr3t&x=1", []string{"s3cr3t"}},
		{"URL", "https://t0ken-t0ken@h/mcp", []string{"t0ken-t0ken"}},
	} {
		s := &Secrets{}
		s.AddGiven(c.name, c.value)
		if diff := cmp.Diff(c.want, s.List()); diff != "" {
			t.Errorf("%s=%s (-want +got):\n%s", c.name, c.value, diff)
		}
	}
}

func BenchmarkText(b *testing.B) {
	text := []byte(strings.Repeat(`{"name":"a tool","description":"It says \"hello\" to <b>everybody</b> &amp; more.","n":12345}`, 1000))
	for _, c := range []struct {
		name string
		s    *Secrets
	}{{"none", &Secrets{}}, {"three", New("swordfish-77x-abcdef-0123456789", "another-secret-4711", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.abc.def")}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				c.s.RedactBytes(text)
			}
		})
	}
}
