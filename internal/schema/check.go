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
	v         *Validator
	base      string // the JSON pointer of the value at which the walk began
	path      []step
	typeName  string // the innermost named type
	typeDepth int    // the length of the path to that type
	places    PlaceSet
	out       []Violation
}

// A step leads from an object or array to a value in it: name is set for a member that the type
// defines, raw for any other member, and index for an element of an array.
type step struct {
	name  string
	raw   []byte
	index int
}

// isFull reports whether the maximum number of violations has been reached.
func (c *checker) isFull() bool { return len(c.out) >= MaxViolations }

// pointer returns the JSON pointer of the current value.
func (c *checker) pointer() string {
	b := []byte(c.base)
	for _, s := range c.path {
		b = append(b, '/')
		name := s.name
		switch {
		case s.raw != nil:
			name = strings.ToValidUTF8(excerpt(unescape(s.raw)), "\uFFFD")
		case name == "":
			name = strconv.Itoa(s.index)
		}
		b = append(b, strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")...)
	}
	return string(b)
}

// placeName returns the path of the current value from the innermost named type (see
// Violation.Place).
func (c *checker) placeName() string {
	b := []byte(c.typeName)
	for _, s := range c.path[c.typeDepth:] {
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

// addViolation adds a violation at the current value.
func (c *checker) addViolation(k Kind, basis Basis, permitted, seen string) {
	if !c.isFull() {
		c.out = append(c.out, Violation{
			Pointer: c.pointer(), Kind: k, Basis: basis, Type: c.typeName, Place: c.placeName(), Permitted: permitted, Seen: seen,
		})
	}
}

// addOfficialViolation adds a violation that the official schema also reports.
func (c *checker) addOfficialViolation(k Kind, permitted, seen string) {
	c.addViolation(k, Schema, permitted, seen)
}

// checkAt checks v against t. The step s leads from the current value to v.
func (c *checker) checkAt(s step, v []byte, t *schemaType) {
	c.path = append(c.path, s)
	c.check(v, t)
	c.path = c.path[:len(c.path)-1]
}

// check checks v against t. v must not have surrounding whitespace.
func (c *checker) check(v []byte, t *schemaType) {
	if c.isFull() {
		return
	}
	kind := kindOf(v)
	if !t.accepts(kind) {
		c.addOfficialViolation(WrongType, t.describe(), excerpt(v))
		return
	}
	switch t.form {
	case objectForm:
		typeName, typeDepth := c.typeName, c.typeDepth
		if t.name != "" {
			c.typeName, c.typeDepth = t.name, len(c.path)
			c.places.add(t.place)
		}
		c.checkObject(v, t)
		c.checkExtras(v, t)
		c.typeName, c.typeDepth = typeName, typeDepth
		return
	case arrayForm:
		c.checkList(v, t)
	case stringForm:
		if t.enum != nil {
			c.checkWord(v, t)
		}
	case numberForm, integerForm:
		c.checkNumber(v, t)
	case unionForm:
		for _, a := range t.alternatives {
			if a.accepts(kind) {
				if a.form == integerForm && !isWhole(v) {
					c.addOfficialViolation(WrongType, t.describe(), excerpt(v))
				} else {
					c.check(v, a)
				}
				break
			}
		}
	case taggedForm:
		c.checkTagged(v, t)
	}
	c.checkExtras(v, t)
}

// checkExtras applies the checks that the official schema does not make.
func (c *checker) checkExtras(v []byte, t *schemaType) {
	for _, e := range t.extras {
		e(c, v)
	}
}

func (c *checker) checkObject(v []byte, t *schemaType) {
	if len(t.members) == 0 && t.otherMembers == nil && t.shapes == nil {
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
		} else if t.otherMembers != nil {
			c.checkAt(step{raw: name}, value, t.otherMembers)
		}
	}
	for i := range t.members {
		m := &t.members[i]
		switch {
		case values[i] != nil:
			c.places.add(m.place)
			c.checkAt(step{name: m.name}, values[i], m.typ)
		case m.required:
			c.addMissing(m)
		}
	}
	if t.shapes != nil {
		c.checkShapes(v, t.shapes)
	}
}

// lookup returns the index of the member with this raw name, and whether there is one.
func (t *schemaType) lookup(name []byte) (int, bool) {
	if i, ok := t.index[string(name)]; ok {
		return i, true
	}
	if bytes.IndexByte(name, '\\') < 0 {
		return 0, false
	}
	i, ok := t.index[string(unescape(name))]
	return i, ok
}

// addMissing adds a violation for a missing required member; the pointer names it.
func (c *checker) addMissing(m *member) {
	c.addMissingMember(m.name, m.typ.describe())
}

// addMissingMember adds a violation for a missing member of the current object. permitted describes
// its value.
func (c *checker) addMissingMember(name, permitted string) {
	c.path = append(c.path, step{name: name})
	before := len(c.out)
	c.addOfficialViolation(Missing, permitted, "a missing member")
	if len(c.out) > before {
		c.out[before].Member = name
	}
	c.path = c.path[:len(c.path)-1]
}

// checkShapes checks object v against the shapes whose required members it has, in order, until one
// fits. A shape fits if the official schema reports no violation. If none fits, the violations of
// the first of these shapes count. If there are no such shapes, checkShapes reports the missing
// members.
func (c *checker) checkShapes(v []byte, shapes []member) {
	before := len(c.out)
	var nearest *schemaType
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
	c.addOfficialViolation(Missing, "an object with "+strings.Join(all, " or "), excerpt(v))
}

// hasRequired reports whether v has the required members of t, valid or not.
func (t *schemaType) hasRequired(v []byte) bool {
	for _, m := range t.members {
		if m.required && valueOf(v, m.name) == nil {
			return false
		}
	}
	return true
}

// valueOf returns the value of a member of object v: the last one if the name occurs twice, or nil
// if v has no such member.
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
		if string(name) == wanted || bytes.IndexByte(name, '\\') >= 0 && string(unescape(name)) == wanted {
			found = value
		}
	}
}

func (c *checker) checkList(v []byte, t *schemaType) {
	n := 0
	for cur := wire.NewWalker(v); ; n++ {
		e, ok := cur.Element()
		if !ok {
			break
		}
		if c.isFull() {
			continue
		}
		c.checkAt(step{index: n}, e, t.elem)
	}
	if t.maxElements != nil && n > t.maxElements.max {
		basis := Schema
		if t.maxElements.isTextOnly {
			basis = BeyondSchema
		}
		c.addViolation(TooMany, basis, fmt.Sprintf("at most %d elements", t.maxElements.max), fmt.Sprintf("%d elements", n))
	}
}

func (c *checker) checkWord(v []byte, t *schemaType) {
	word := unquote(v)
	for _, w := range t.enum {
		if string(word) == w {
			return
		}
	}
	c.addOfficialViolation(WrongWord, t.describe(), excerpt(v))
}

func (c *checker) checkNumber(v []byte, t *schemaType) {
	if t.form == integerForm && !isWhole(v) {
		c.addOfficialViolation(WrongType, t.describe(), excerpt(v))
		return
	}
	if t.min == nil && t.max == nil {
		return
	}
	// ParseFloat returns infinity for numbers beyond float64, which also compares correctly.
	f, _ := strconv.ParseFloat(string(v), 64)
	if t.min != nil && f < *t.min || t.max != nil && f > *t.max {
		c.addOfficialViolation(OutOfRange, t.describe(), excerpt(v))
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

func (c *checker) checkTagged(v []byte, t *schemaType) {
	tag := valueOf(v, t.tag)
	if tag == nil && t.untagged != nil {
		c.check(v, t.untagged)
		return
	}
	if tag != nil && kindOf(tag) == '"' {
		word := unquote(tag)
		for i := range t.cases {
			if t.cases[i].name == string(word) {
				c.check(v, t.cases[i].typ)
				return
			}
		}
	}
	if tag == nil {
		c.addMissingMember(t.tag, describeWords(t.caseNames()))
		return
	}
	c.path = append(c.path, step{name: t.tag})
	c.addOfficialViolation(WrongWord, describeWords(t.caseNames()), excerpt(tag))
	c.path = c.path[:len(c.path)-1]
}
