package schema

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// maxMembers is the maximum number of members that an object type may define.
const maxMembers = 24

// A checker walks over one value and collects its violations.
type checker struct {
	v    *Validator
	base string // the JSON pointer of the value at which the walk began
	path []step
	in   string // the innermost named type
	deep int    // the length of the path to it
	met  Met
	out  []Violation
}

// A step is the name of a member that the type defines, the raw name of another
// member, or an index.
type step struct {
	name  string
	raw   []byte
	index int
}

// full reports whether the maximum number of violations has been reached.
func (c *checker) full() bool { return len(c.out) >= MaxViolations }

// pointer returns the JSON pointer of the current value.
func (c *checker) pointer() string {
	b := []byte(c.base)
	for _, s := range c.path {
		b = append(b, '/')
		name := s.name
		switch {
		case s.raw != nil:
			name = strings.ToValidUTF8(excerpt(plainText(s.raw)), "\uFFFD")
		case name == "":
			name = strconv.Itoa(s.index)
		}
		b = append(b, strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")...)
	}
	return string(b)
}

// place returns the path of the current value from the innermost named type.
func (c *checker) place() string {
	b := []byte(c.in)
	for _, s := range c.path[c.deep:] {
		if len(b) > 0 {
			b = append(b, '.')
		}
		if s.name != "" {
			b = append(b, s.name...)
		} else {
			b = append(b, '*')
		}
	}
	return string(b)
}

// found adds a violation at the current value.
func (c *checker) found(k Kind, basis Basis, permitted, seen string) {
	if !c.full() {
		c.out = append(c.out, Violation{
			Pointer: c.pointer(), Kind: k, Basis: basis, Type: c.in, Place: c.place(), Permitted: permitted, Seen: seen,
		})
	}
}

// asserted adds a violation that the official schema also reports.
func (c *checker) asserted(k Kind, permitted, seen string) { c.found(k, Schema, permitted, seen) }

// at checks v, the value to which s leads from the current value.
func (c *checker) at(s step, v []byte, t *typ) {
	c.path = append(c.path, s)
	c.check(v, t)
	c.path = c.path[:len(c.path)-1]
}

// check checks v, which has no surrounding whitespace.
func (c *checker) check(v []byte, t *typ) {
	if c.full() {
		return
	}
	kind := kindOf(v)
	if !t.takes(kind) {
		c.asserted(WrongType, t.permitted(), excerpt(v))
		return
	}
	switch t.form {
	case isObject:
		in, deep := c.in, c.deep
		if t.name != "" {
			c.in, c.deep = t.name, len(c.path)
			c.met.add(t.place)
		}
		c.checkObject(v, t)
		c.also(v, t)
		c.in, c.deep = in, deep
		return
	case isList:
		c.checkList(v, t)
	case isText:
		if t.words != nil {
			c.checkWord(v, t)
		}
	case isNumber, isInteger:
		c.checkNumber(v, t)
	case oneOfForms:
		for _, a := range t.alternatives {
			if a.takes(kind) {
				if a.form == isInteger && !isWhole(v) {
					c.asserted(WrongType, t.permitted(), excerpt(v))
				} else {
					c.check(v, a)
				}
				break
			}
		}
	case oneOfTags:
		c.checkTagged(v, t)
	}
	c.also(v, t)
}

// also applies the checks that the official schema does not make.
func (c *checker) also(v []byte, t *typ) {
	for _, e := range t.extras {
		e(c, v)
	}
}

func (c *checker) checkObject(v []byte, t *typ) {
	if len(t.members) == 0 && t.rest == nil && t.shapes == nil {
		return
	}
	// If a name occurs twice, the last value is used, as everywhere in this package.
	var values [maxMembers][]byte
	for cur := wire.NewWalker(v); ; {
		name, value, ok := cur.Member()
		if !ok {
			break
		}
		if i, known := t.lookup(name); known {
			values[i] = value
		} else if t.rest != nil {
			c.at(step{raw: name}, value, t.rest)
		}
	}
	for i := range t.members {
		m := &t.members[i]
		switch {
		case values[i] != nil:
			c.met.add(m.place)
			c.at(step{name: m.name}, values[i], m.typ)
		case m.required:
			c.missing(m)
		}
	}
	if t.shapes != nil {
		c.checkShapes(v, t.shapes)
	}
}

// lookup returns the index of the member with this raw name.
func (t *typ) lookup(name []byte) (int, bool) {
	if i, ok := t.index[string(name)]; ok {
		return i, true
	}
	if bytes.IndexByte(name, '\\') < 0 {
		return 0, false
	}
	i, ok := t.index[string(plainText(name))]
	return i, ok
}

// missing adds a violation for a missing required member; the pointer names it.
func (c *checker) missing(m *member) {
	c.path = append(c.path, step{name: m.name})
	c.asserted(Missing, m.typ.permitted(), "no such member")
	c.path = c.path[:len(c.path)-1]
}

// checkShapes checks the object against the shapes in order until one fits. It
// skips shapes whose required members are missing.
func (c *checker) checkShapes(v []byte, shapes []member) {
	before := len(c.out)
	var nearest *typ
	for _, s := range shapes {
		if !s.typ.hasRequired(v) {
			continue
		}
		c.check(v, s.typ)
		if !slices.ContainsFunc(c.out[before:], func(f Violation) bool { return f.Basis == Schema }) {
			return
		}
		c.out = c.out[:before]
		if nearest == nil {
			nearest = s.typ
		}
	}
	if nearest != nil {
		c.check(v, nearest)
		return
	}
	var all []string
	for _, s := range shapes {
		for _, m := range s.typ.members {
			if m.required {
				all = append(all, m.name)
			}
		}
	}
	c.asserted(Missing, "an object with "+strings.Join(all, " or "), excerpt(v))
}

// hasRequired reports whether v has the required members of t, valid or not.
func (t *typ) hasRequired(v []byte) bool {
	for _, m := range t.members {
		if m.required && valueOf(v, m.name) == nil {
			return false
		}
	}
	return true
}

// valueOf returns the value of a member of object v: the last one if the name occurs twice,
// nil if there is none.
func valueOf(v []byte, wanted string) []byte {
	if kindOf(v) != '{' {
		return nil
	}
	var found []byte
	for cur := wire.NewWalker(v); ; {
		name, value, ok := cur.Member()
		if !ok {
			return found
		}
		if string(name) == wanted || bytes.IndexByte(name, '\\') >= 0 && string(plainText(name)) == wanted {
			found = value
		}
	}
}

func (c *checker) checkList(v []byte, t *typ) {
	n := 0
	for cur := wire.NewWalker(v); ; n++ {
		e, ok := cur.Element()
		if !ok {
			break
		}
		if c.full() {
			continue
		}
		c.at(step{index: n}, e, t.elem)
	}
	if t.most != nil && n > t.most.count {
		basis := Schema
		if t.most.beside {
			basis = Beside
		}
		c.found(TooMany, basis, fmt.Sprintf("at most %d elements", t.most.count), fmt.Sprintf("%d", n))
	}
}

func (c *checker) checkWord(v []byte, t *typ) {
	word := unquoted(v)
	for _, w := range t.words {
		if string(word) == w {
			return
		}
	}
	c.asserted(WrongWord, t.permitted(), excerpt(v))
}

func (c *checker) checkNumber(v []byte, t *typ) {
	if t.form == isInteger && !isWhole(v) {
		c.asserted(WrongType, t.permitted(), excerpt(v))
		return
	}
	if t.min == nil && t.max == nil {
		return
	}
	// ParseFloat returns infinity for numbers beyond float64, which compares as needed.
	f, _ := strconv.ParseFloat(string(v), 64)
	if t.min != nil && f < *t.min || t.max != nil && f > *t.max {
		c.asserted(OutOfRange, t.permitted(), excerpt(v))
	}
}

// isWhole reports whether a number has an integer value, in any notation.
func isWhole(v []byte) bool {
	for _, b := range v {
		if b == '.' || b == 'e' || b == 'E' {
			return wire.RawID(string(v)).IsInteger()
		}
	}
	return true
}

func (c *checker) checkTagged(v []byte, t *typ) {
	tag := valueOf(v, t.tag)
	if tag == nil && t.untagged != nil {
		c.check(v, t.untagged)
		return
	}
	if tag != nil && kindOf(tag) == '"' {
		word := unquoted(tag)
		for i := range t.cases {
			if t.cases[i].name == string(word) {
				c.check(v, t.cases[i].typ)
				return
			}
		}
	}
	c.path = append(c.path, step{name: t.tag})
	if tag == nil {
		c.asserted(Missing, oneOf(t.caseNames()), "no such member")
	} else {
		c.asserted(WrongWord, oneOf(t.caseNames()), excerpt(tag))
	}
	c.path = c.path[:len(c.path)-1]
}
