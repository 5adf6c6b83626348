package uri_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yosida95/uritemplate/v3"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/uri"
)

func TestMatching(t *testing.T) {
	for _, c := range []struct {
		template, uri string
		may           bool
		values        map[string]string // nil if Match must fail
	}{
		{"x://a/{n}", "x://a/1", true, map[string]string{"n": "1"}},
		{"x://a/{n}/{m}.txt", "x://a/1/2.txt", true, map[string]string{"n": "1", "m": "2"}},
		{"x://a/{n}", "x://a/%C3%B6", true, map[string]string{"n": "%C3%B6"}},
		{"x://a/{n}", "x://a/1/2", true, nil}, // a server may match this
		{"x://a/{n}", "x://b/1", false, nil},
		{"x://a/{n}", "x://a/", true, nil},
		{"x://a.b", "x://a.b", true, map[string]string{}},
		{"x://a.b", "x://aab", false, nil},
		{"x://a{?q,r*}", "x://a?q=1", true, nil},
		{"x://{+path}", "x://a/b/c", true, nil},
		{"{n}{n}", "11", true, nil}, // the variable occurs twice
		{"x://{", "y://", true, nil},
		{"x://\xff", "y://", true, nil},
		{strings.Repeat("x", 5000), "y://", true, nil},
	} {
		template := uri.Parse(c.template)
		if got := template.MayMatch(c.uri); got != c.may {
			t.Errorf("%.40s may match %s: %v", c.template, c.uri, got)
		}
		values, ok := template.Match(c.uri)
		if diff := cmp.Diff(c.values, values); diff != "" || ok != (c.values != nil) {
			t.Errorf("%.40s matches %s (-want +got), %v:\n%s", c.template, c.uri, ok, diff)
		}
	}
}

func TestVariables(t *testing.T) {
	got := uri.Parse("x://{a}{?b,c*}{+d:3}")
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, got.Variables); diff != "" || got.Simple {
		t.Errorf("variables (-want +got), simple %v:\n%s", got.Simple, diff)
	}
}

func TestExpandNeedsValues(t *testing.T) {
	for _, template := range []string{"x://{a}", "x://{+a}", "x://{a,b}", "x://{"} {
		if got, ok := uri.Parse(template).Expand(nil); ok {
			t.Errorf("%s expands to %q", template, got)
		}
	}
}

func TestMatchesAny(t *testing.T) {
	if uri.MatchesAny(nil, "x://a") || !uri.MatchesAny([]string{"y:{a}", "x:{a}"}, "x://a") {
		t.Error("not every template is compared with the URI")
	}
}

// TestExpansionsMatch checks that a template matches its own expansion, with the same
// values.
func TestExpansionsMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringN(1, 20, -1)
		values := map[string]string{"a": value.Draw(t, "a"), "b": value.Draw(t, "b")}
		template := uri.Parse("x://t/{a}/and/{b}")
		expanded, ok := template.Expand(values)
		if !ok || !template.MayMatch(expanded) {
			t.Fatalf("%q expands to %q", values, expanded)
		}
		if _, err := url.Parse(expanded); err != nil {
			t.Fatal(err)
		}
		got, ok := template.Match(expanded)
		for name, v := range got {
			got[name], _ = url.PathUnescape(v)
		}
		if diff := cmp.Diff(values, got); !ok || diff != "" {
			t.Fatalf("%s (-want +got):\n%s", expanded, diff)
		}
	})
}

// TestAnyTemplate checks that Parse accepts any text, and that a URI which Match accepts
// also passes MayMatch.
func TestAnyTemplate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"{", "}", "{a}", "{+b}", "{?c,d}", "/", "x:"}))
		text := strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "template"), "")
		other := rapid.OneOf(rapid.Just(text), rapid.String()).Draw(t, "uri")
		template := uri.Parse(text)
		if _, ok := template.Match(other); ok && !template.MayMatch(other) {
			t.Fatalf("%q matches %q for certain, and may not", text, other)
		}
	})
}

// TestTemplatesAsTheLibrary checks that IsTemplate accepts the same texts as an
// implementation of RFC 6570.
func TestTemplatesAsTheLibrary(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"{", "}", "{a}", "{+a,b}", "{a:3}", "{a*}", ":", ",", "*", "a", "b.c", ".", "%", "%20", "%2", "'", `"`, "<", " ", "\x01", "\x7f", "/", "?", "#", "&",
		";", "=", "!", "@", "|", "0", "10000", "9999", "_", "-", `\`, "^", "`", "é", "漢", "\u00a0", ":0", ":09", "x://", "[", "(", "$", "~",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 7).Draw(t, "template"), "")
		_, err := uritemplate.New(text)
		if got := uri.IsTemplate([]byte(text)); got != (err == nil) {
			t.Fatalf("%q is a template: %v; the library: %v", text, got, err)
		}
	})
}
