package schema

import (
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/uri"
)

func TestTextChecks(t *testing.T) {
	for _, c := range []struct {
		name       string
		fits       func([]byte) bool
		kept, lost []string
	}{
		{
			"base64", isBase64,
			[]string{"", "aGVsbG8=", "aGVsbG8", "aGVs\r\nbG8=", "+/+/", "YQ==", "YWI="},
			[]string{"a", "aGVsbG8==", "a=b", "-_-_", "data:;base64,YQ==", "YQ===", "====", "aGVs bG8=", "é"},
		},
		{
			"a text", isNotBlank,
			[]string{"a", " a", `\n`, "\n.", "\u00a0"},
			[]string{"", " ", "\n", " \r\n\t"},
		},
		{
			"a MIME type", isMIME,
			[]string{"text/plain", "text/plain; charset=utf-8", "text/html;profile=mcp-app", "application/vnd.api+json", "x/y ;a"},
			[]string{"", "text", "text/", "/plain", "text/plain/x", "te xt/plain", "text, html/plain", ".png"},
		},
		{
			"a URI", uri.IsURI,
			[]string{"a:", "file:///a", "urn:x:y", "https://[::1]:80/a?b=c#d", "test://static/resource/%20", "note://größe", "a+b-c.d:e", "C:/x"},
			[]string{"", "a", "/a", "//a", ":a", "1a:b", "a b:c", "a:b c", "a:%", "a:%4", "a:%zz", "a:<b>", "a:\n", "a:{b}", `a:b\c`},
		},
		{
			"a URI template", uri.IsTemplate,
			[]string{"", "a", "file:///{path}", "{+path}", "{#x,y}", "{/a*}", "{?a,b}{&c}", "{.x}", "{;x:3}", "{a.b}", "{a_1}", "{%20}", "it's", "a%20b", "ü{x}"},
			[]string{"{", "}", "{}", "{a", "a}", "{{a}}", "{a b}", "{a-b}", "{a:}", "{a:0}", "{a:10000}", "{a,}", "{=a}", "{!a}", "a b", "a%b", "{.}", "{a..b}", "<a>"},
		},
		{
			"a date", isDate,
			[]string{
				"2025-01-12T15:00:58Z", "2025-01-12T15:00:58.123456+02:00", "2025-01-12T15:00:58", "2025-01-12", "2025-01", "2025",
				"20250112T150058Z", "2025-W01-1", "2025-012", "2025-01-12 15:00", "2025-01-12T24:00:00Z", "2016-12-31T23:59:60Z", "2025-01-12T15:00:58,5Z",
			},
			[]string{"", "now", "1736694058", "12/01/2025", "2025-13-01", "2025-01-32", "2025-01-12T25:00", "2025-01-12T15:61", "Sun, 12 Jan 2025 15:00:58 GMT", strings.Repeat("2", 100)},
		},
		{
			"an icon's size", iconSizePattern.Match,
			[]string{"48x48", "any", "1024x768"}, []string{"", "48", "48X48", "48x", "any 48x48", "48x48 96x96"},
		},
		{
			"image data", isImageData,
			[]string{"image/png;base64,aGVsbG8=", "image/svg+xml;base64,aGVsbG8%3D", ";base64,", "image/png;a=b;BASE64,YQ"},
			[]string{"", "image/png", "image/png,a", "image/png;base64,?", "text/plain;base64,YQ=="},
		},
		{"maybe an image", mayBeMediaType("image"), []string{"image/png", "application/pdf", "IMAGE/x", "?"}, []string{"text/plain", "audio/wav"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, s := range c.kept {
				if !c.fits([]byte(s)) {
					t.Errorf("%q is refused", s)
				}
			}
			for _, s := range c.lost {
				if c.fits([]byte(s)) {
					t.Errorf("%q is accepted", s)
				}
			}
		})
	}
}
