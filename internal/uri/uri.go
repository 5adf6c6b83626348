// Package uri has what is known of URIs and of URI templates (RFC 6570): what is
// one, what may match a template, what it expands to, and a name that no server
// has.
package uri

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Nowhere is part of every URI that cases make up to name no resource.
const Nowhere = "mcp-conform-no-such-resource"

// Template is a URI template, taken apart. A library of RFC 6570 does not do: it
// refuses what servers write that is not quite a template, and takes a URI for one
// that a template makes where each value has a strict form, so that "x://a/1/2" is
// none of "x://a/{n}", though a server may well read it as one.
type Template struct {
	Text      string
	Variables []string // in the order in which they first stand there
	// Simple: all expressions are one variable without operator or modifier,
	// so that it is known what each stands for.
	Simple bool

	generous, strict *regexp.Regexp
}

// maxTemplate bounds the templates that are taken apart.
const maxTemplate = 4096

// Parse takes a template apart. Of one that is too long, or no text, or lacks
// a closing brace, it is said that it may match anything.
func Parse(text string) *Template {
	if len(text) > maxTemplate || !utf8.ValidString(text) {
		return &Template{Text: text}
	}
	t := &Template{Text: text, Simple: true}
	var generous, strict strings.Builder
	for rest := text; ; {
		literal, expression, open := strings.Cut(rest, "{")
		generous.WriteString(regexp.QuoteMeta(literal))
		strict.WriteString(regexp.QuoteMeta(literal))
		if !open {
			break
		}
		var closed bool
		if expression, rest, closed = strings.Cut(expression, "}"); !closed {
			return &Template{Text: text}
		}
		t.note(expression)
		generous.WriteString(".*")
		strict.WriteString("([^/?#&=]+)")
	}
	t.generous = regexp.MustCompile("(?s)^" + generous.String() + "$")
	t.strict = regexp.MustCompile("^" + strict.String() + "$")
	return t
}

// note takes note of the variables of an expression.
func (t *Template) note(expression string) {
	names := strings.TrimLeft(expression, "+#./;?&=,!@|")
	t.Simple = t.Simple && names == expression && !strings.ContainsAny(names, ",*:")
	for name := range strings.SplitSeq(names, ",") {
		if name, _, _ = strings.Cut(strings.TrimSuffix(name, "*"), ":"); name == "" {
			t.Simple = false // an expression without a name is none
			continue
		}
		t.Variables = append(t.Variables, name)
	}
}

// MayMatch reports whether some values may make this URI of the template. It is
// true where that is not known.
func (t *Template) MayMatch(uri string) bool { return t.generous == nil || t.generous.MatchString(uri) }

// Match returns the text that stands for each variable in the URI, as it is
// escaped there. It is not ok where the template does not make this URI, or is
// not a simple one, or has a variable more than once.
func (t *Template) Match(uri string) (values map[string]string, ok bool) {
	if !t.Simple || t.strict == nil {
		return nil, false
	}
	found := t.strict.FindStringSubmatch(uri)
	if found == nil {
		return nil, false
	}
	values = map[string]string{}
	for i, name := range t.Variables {
		if _, twice := values[name]; twice {
			return nil, false
		}
		values[name] = found[i+1]
	}
	return values, true
}

// Expand makes a URI of a simple template. A variable without a value makes it
// not ok.
func (t *Template) Expand(values map[string]string) (uri string, ok bool) {
	if !t.Simple || t.strict == nil {
		return "", false
	}
	var b strings.Builder
	rest := t.Text
	for i := 0; ; i++ {
		literal, expression, open := strings.Cut(rest, "{")
		b.WriteString(literal)
		if !open {
			return b.String(), true
		}
		_, rest, _ = strings.Cut(expression, "}")
		v, have := values[t.Variables[i]]
		if !have {
			return "", false
		}
		b.WriteString(Escape(v))
	}
}

// Escape writes a value as simple expansion does: all but the unreserved
// characters as percent escapes.
func Escape(value string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(value) {
		if 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

// MatchesAny reports whether one of the templates may make this URI.
func MatchesAny(templates []string, uri string) bool {
	for _, text := range templates {
		if Parse(text).MayMatch(uri) {
			return true
		}
	}
	return false
}
