// Package uri validates URIs and URI templates (RFC 6570), matches URIs with
// templates, expands templates, and provides a URI part that no server has.
package uri

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// Nowhere is part of every URI that a case invents for a resource that does not exist.
const Nowhere = "mcp-conform-no-such-resource"

// Template is a parsed URI template. An RFC 6570 library would be too strict: it rejects the
// slightly invalid templates that servers write, and does not match "x://a/1/2" with "x://a/{n}",
// although a server may match them.
type Template struct {
	Text      string
	Variables []string // in the order of the expressions, with repetitions
	// Simple reports whether every expression is one variable without operator or modifier,
	// so that Match can return its value.
	Simple bool

	// generous and strict return regular expressions, compiled at the first call. The expression of
	// generous matches every URI to which the template may expand. That of strict captures the
	// value of each variable. Both functions are nil if the template could not be parsed.
	generous, strict func() *regexp.Regexp
}

// maxTemplate is the maximum length in bytes of a template that Parse parses.
const maxTemplate = 4096

// Parse parses a template. If the template is too long, is not UTF-8 or lacks a closing brace,
// MayMatch returns true for every URI.
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
	t.generous = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?s)^" + generous.String() + "$") })
	t.strict = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^" + strict.String() + "$") })
	return t
}

// note adds the variables of an expression to t. It sets Simple to false unless the expression is
// one variable without operator or modifier.
func (t *Template) note(expression string) {
	names := strings.TrimLeft(expression, "+#./;?&=,!@|")
	t.Simple = t.Simple && names == expression && !strings.ContainsAny(names, ",*:")
	for name := range strings.SplitSeq(names, ",") {
		if name, _, _ = strings.Cut(strings.TrimSuffix(name, "*"), ":"); name == "" {
			t.Simple = false // an expression needs a name
			continue
		}
		t.Variables = append(t.Variables, name)
	}
}

// MayMatch reports whether the template may expand to the URI. It returns true if
// that is unknown.
func (t *Template) MayMatch(uri string) bool {
	return t.generous == nil || t.generous().MatchString(uri)
}

// Match returns the value of each variable in the URI, still escaped. ok is false
// if the template does not expand to the URI, is not simple, or repeats a variable.
func (t *Template) Match(uri string) (values map[string]string, ok bool) {
	if !t.Simple || t.strict == nil {
		return nil, false
	}
	found := t.strict().FindStringSubmatch(uri)
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

// Expand expands a simple template to a URI. ok is false if the template could not be parsed or is
// not simple, or if a variable has no value.
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

// Escape returns the value as simple expansion writes it: all characters except the
// unreserved ones are percent-encoded.
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

// MatchesAny reports whether one of the templates may expand to the URI.
func MatchesAny(templates []string, uri string) bool {
	for _, text := range templates {
		if Parse(text).MayMatch(uri) {
			return true
		}
	}
	return false
}
