package schema

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// A form is the JSON type that a type requires of a value.
type form int

const (
	anything form = iota
	isObject
	isList
	isText
	isNumber
	isInteger
	isBoolean
	isNull
	oneOfForms // the alternative that accepts the value's JSON type
	oneOfTags  // the case that a member of the object selects
)

// A typ is a type of the specification. In the source, marks on members, cases and
// bounds say which revisions have them; a compiled typ has only those of its
// revision. A typ is not modified after its creation.
type typ struct {
	form   form
	name   string // of an object: its name in findings; may be empty
	place  Place  // compiled: of an object with a name
	extras []extra

	members []member // of an object
	index   map[string]int
	rest    *typ     // of an object: the type of all other members; nil: anything
	shapes  []member // of an object: it must also have one of these shapes

	elem *typ   // of a list
	most *bound // of a list: the maximum number of elements

	words    []string // of a text: the permitted values; nil: any
	min, max *float64 // nil if any text is permitted

	alternatives []*typ // of oneOfForms
	tag          string // of oneOfTags: the member that selects the case
	cases        []member
	untagged     *typ // of oneOfTags: the type if that member is missing; may be nil
}

// A member is a member of an object, or a case of oneOfTags.
type member struct {
	name     string
	typ      *typ
	required bool
	span     span
	place    Place // compiled: of a member of an object with a name
}

// A span is a range of revisions, from the first to the last. The zero value is
// all revisions.
type span struct{ first, last spec.Revision }

func (s span) has(r spec.Revision) bool {
	return r.AtLeast(s.first) && (s.last == "" || s.last.AtLeast(r))
}

// A bound is a maximum number of elements. The schema asserts it in some revisions; in the
// others it is only in the text of the specification.
type bound struct {
	count    int
	asserted span
	beside   bool // compiled: it is only in the text of this revision
}

var (
	whatever = &typ{form: anything}
	text     = &typ{form: isText}
	number   = &typ{form: isNumber}
	integer  = &typ{form: isInteger}
	boolean  = &typ{form: isBoolean}
	null     = &typ{form: isNull}
	// record is an object with any members.
	record = &typ{form: isObject}
)

// A part is a member of an object, or a group of members.
type part interface{ list() []member }

func (m member) list() []member { return []member{m} }

// A group is a set of members that several types share.
type group []member

func (g group) list() []member { return g }

// with joins parts to one group.
func with(parts ...part) group {
	var g group
	for _, p := range parts {
		g = append(g, p.list()...)
	}
	return g
}

// req returns a required member, opt an optional one.
func req(name string, t *typ) member { return member{name: name, typ: t, required: true} }
func opt(name string, t *typ) member { return member{name: name, typ: t} }

// since marks that revisions from r on have the member or case; until marks r as
// the last revision that has it.
func (m member) since(r spec.Revision) member { m.span.first = r; return m }
func (m member) until(r spec.Revision) member { m.span.last = r; return m }

// ofTasks marks a member that only 2025-11-25, with experimental tasks, has.
func (m member) ofTasks() member { m.span = span{spec.V20251125, spec.V20251125}; return m }

// since marks all members of the group that have no later mark.
func (g group) since(r spec.Revision) group {
	marked := slices.Clone(g)
	for i, m := range marked {
		if !m.span.first.AtLeast(r) {
			marked[i] = m.since(r)
		}
	}
	return marked
}

// object returns an object type that permits other members, as all objects of the
// specification do. Its name appears in findings.
func object(name string, parts ...part) *typ {
	return &typ{form: isObject, name: name, members: with(parts...)}
}

// table returns an object type whose members all have the same type.
func table(t *typ) *typ { return &typ{form: isObject, rest: t} }

func list(t *typ) *typ { return &typ{form: isList, elem: t} }

// words returns a string type that permits only the given values.
func words(w ...string) *typ { return &typ{form: isText, words: w} }

// either returns a type that uses the first of the types that accepts the value's
// JSON type.
func either(t ...*typ) *typ { return &typ{form: oneOfForms, alternatives: t} }

// tagged returns an object type whose member tag selects the case.
func tagged(tag string, cases ...part) *typ {
	return &typ{form: oneOfTags, tag: tag, cases: with(cases...)}
}

// when returns a case for tagged.
func when(name string, t *typ) member { return member{name: name, typ: t} }

// orWithout sets the type of objects that lack the tag.
func (t typ) orWithout(untagged *typ) *typ { t.untagged = untagged; return &t }

// shaped requires that an object also has one of the shapes. This is the only construct for
// which several types are tried: the object is judged by the first shape that it satisfies,
// else by the first whose required members are present.
func (t typ) shaped(shapes ...member) *typ { t.shapes = shapes; return &t }

// shape returns a shape of an object.
func shape(name string, parts ...part) member { return when(name, object(name, parts...)) }

// within sets the minimum and maximum of a number.
func (t typ) within(low, high float64) *typ { t.min, t.max = &low, &high; return &t }

func (t typ) atLeast(low float64) *typ { t.min = &low; return &t }

// atMost bounds the length of a list; the schema asserts the bound since r.
func (t typ) atMost(count int, r spec.Revision) *typ {
	t.most = &bound{count: count, asserted: span{first: r}}
	return &t
}

// also adds checks that the official schema does not make.
func (t typ) also(e ...extra) *typ {
	t.extras = append(slices.Clone(t.extras), e...)
	return &t
}

// compile returns t as it is in the revision.
func (t *typ) compile(r spec.Revision, done map[*typ]*typ) *typ {
	if t == nil {
		return nil
	}
	if c, ok := done[t]; ok {
		return c
	}
	c := *t
	done[t] = &c
	c.members, c.index = compileMembers(t.members, r, done)
	c.cases, _ = compileMembers(t.cases, r, done)
	c.rest, c.elem, c.untagged = t.rest.compile(r, done), t.elem.compile(r, done), t.untagged.compile(r, done)
	c.shapes, _ = compileMembers(t.shapes, r, done)
	c.alternatives = compileAll(t.alternatives, r, done)
	if t.most != nil {
		c.most = &bound{count: t.most.count, beside: !t.most.asserted.has(r)}
	}
	return &c
}

func compileAll(types []*typ, r spec.Revision, done map[*typ]*typ) []*typ {
	var out []*typ
	for _, t := range types {
		out = append(out, t.compile(r, done))
	}
	return out
}

func compileMembers(members []member, r spec.Revision, done map[*typ]*typ) ([]member, map[string]int) {
	var out []member
	index := map[string]int{}
	for _, m := range members {
		if m.span.has(r) {
			m.typ = m.typ.compile(r, done)
			index[m.name] = len(out)
			out = append(out, m)
		}
	}
	return out, index
}

// takes reports whether t accepts values of the JSON type whose first byte is kind.
func (t *typ) takes(kind byte) bool {
	switch t.form {
	case anything:
		return true
	case isObject, oneOfTags:
		return kind == '{'
	case isList:
		return kind == '['
	case isText:
		return kind == '"'
	case isNumber, isInteger:
		return kind == '0'
	case isBoolean:
		return kind == 't' || kind == 'f'
	case isNull:
		return kind == 'n'
	default:
		return slices.ContainsFunc(t.alternatives, func(a *typ) bool { return a.takes(kind) })
	}
}

// permitted describes t in words.
func (t *typ) permitted() string {
	switch t.form {
	case anything:
		return "any value"
	case isObject, oneOfTags:
		if t.name != "" {
			return "an object (" + t.name + ")"
		}
		return "an object"
	case isList:
		return "an array"
	case isText:
		if t.words != nil {
			return oneOf(t.words)
		}
		return "a string"
	case isNumber:
		return "a number" + t.bounds()
	case isInteger:
		return "an integer" + t.bounds()
	case isBoolean:
		return "true or false"
	case isNull:
		return "null"
	default:
		var all []string
		for _, a := range t.alternatives {
			all = append(all, a.permitted())
		}
		return strings.Join(all, " or ")
	}
}

func (t *typ) bounds() string {
	switch {
	case t.min != nil && t.max != nil:
		return " from " + plain(*t.min) + " to " + plain(*t.max)
	case t.min != nil:
		return " of " + plain(*t.min) + " or more"
	default:
		return ""
	}
}

// caseNames returns the permitted values of the tag.
func (t *typ) caseNames() []string {
	var names []string
	for _, c := range t.cases {
		names = append(names, c.name)
	}
	return names
}
