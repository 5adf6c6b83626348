// Package lazyregexp has regular expressions that are compiled when they are first
// used, so that a program starts faster. The Go project has an internal package of this
// name.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// A Regexp is a regexp.Regexp with fewer methods, which do the same.
type Regexp struct {
	expression string
	get        func() *regexp.Regexp
}

// inTest reports whether the program is a test binary. Tests compile all expressions when
// they start, to find invalid ones.
var inTest = strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test")

// New returns a Regexp for the expression, which must be valid: otherwise the first use panics.
func New(expression string) *Regexp {
	r := &Regexp{expression, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
	if inTest {
		r.get()
	}
	return r
}

// String returns the expression.
func (r *Regexp) String() string { return r.expression }

// Match is regexp.Regexp.Match.
func (r *Regexp) Match(b []byte) bool { return r.get().Match(b) }

// MatchString is regexp.Regexp.MatchString.
func (r *Regexp) MatchString(s string) bool { return r.get().MatchString(s) }

// FindString is regexp.Regexp.FindString.
func (r *Regexp) FindString(s string) string { return r.get().FindString(s) }

// FindSubmatch is regexp.Regexp.FindSubmatch.
func (r *Regexp) FindSubmatch(b []byte) [][]byte { return r.get().FindSubmatch(b) }

// FindStringSubmatch is regexp.Regexp.FindStringSubmatch.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.get().FindStringSubmatch(s) }

// FindAllString is regexp.Regexp.FindAllString.
func (r *Regexp) FindAllString(s string, n int) []string { return r.get().FindAllString(s, n) }

// FindAllStringSubmatch is regexp.Regexp.FindAllStringSubmatch.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.get().FindAllStringSubmatch(s, n)
}

// ReplaceAll is regexp.Regexp.ReplaceAll.
func (r *Regexp) ReplaceAll(src, by []byte) []byte { return r.get().ReplaceAll(src, by) }

// ReplaceAllFunc is regexp.Regexp.ReplaceAllFunc.
func (r *Regexp) ReplaceAllFunc(src []byte, by func([]byte) []byte) []byte {
	return r.get().ReplaceAllFunc(src, by)
}

// ReplaceAllString is regexp.Regexp.ReplaceAllString.
func (r *Regexp) ReplaceAllString(src, by string) string { return r.get().ReplaceAllString(src, by) }

// ReplaceAllStringFunc is regexp.Regexp.ReplaceAllStringFunc.
func (r *Regexp) ReplaceAllStringFunc(src string, by func(string) string) string {
	return r.get().ReplaceAllStringFunc(src, by)
}
