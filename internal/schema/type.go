package schema

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// form is what a type asks of a value's JSON type.
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
	oneOfForms // the alternative that takes the value's JSON type
	oneOfTags  // the case that a member of the object names
)

// typ is a type of the specification: in the source with marks for revisions
// on members, cases and bounds; compiled, without what its revision does not
// have. Nothing alters a typ once it is made.
type typ struct {
	form   form
	name   string // of an object: how findings call it; may be empty
	place  Place  // compiled: of an object with a name
	extras []extra

	members []member // of an object
	index   map[string]int
	rest    *typ     // of an object: what other members must be; nil: anything
	shapes  []member // of an object: it must have one of these shapes, too

	elem *typ   // of a list
	most *bound // of a list: how many elements it may have

	words    []string // of a text: the only ones; nil: any
	min, max *float64 // of a number

	alternatives []*typ // of oneOfForms
	tag          string // of oneOfTags: the member that names the case
	cases        []member
	untagged     *typ // of oneOfTags: where there is no such member; may be nil
}

// member is a member of an object, or a case of oneOfTags.
type member struct {
	name     string
	typ      *typ
	required bool
	span     span
	place    Place // compiled: of a member of an object with a name
}

// span is from the first to the last revision that has something; the zero
// value is all of them.
type span struct{ first, last spec.Revision }

func (s span) has(r spec.Revision) bool {
	return r.AtLeast(s.first) && (s.last == "" || s.last.AtLeast(r))
}

// bound is a number of elements; the schema asserts it from a revision on,
// and earlier ones only say it.
type bound struct {
	count    int
	asserted span
	beside   bool // compiled: this revision only says it
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

// part is what an object is made of: a member, or several that belong together.
type part interface{ list() []member }

func (m member) list() []member { return []member{m} }

// group is members that several types share.
type group []member

func (g group) list() []member { return g }

// with puts several parts together.
func with(parts ...part) group {
	var g group
	for _, p := range parts {
		g = append(g, p.list()...)
	}
	return g
}

// req is a member that must be there, opt one that may.
func req(name string, t *typ) member { return member{name: name, typ: t, required: true} }
func opt(name string, t *typ) member { return member{name: name, typ: t} }

// since says that the revisions from r on have the member or case, until that
// r is the last one that has it.
func (m member) since(r spec.Revision) member { m.span.first = r; return m }
func (m member) until(r spec.Revision) member { m.span.last = r; return m }

// ofTasks says that the revision that tried out tasks alone has the member.
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

// object is an object that may have other members, too, as all objects of the
// specification may. Its name is for the reader of a finding.
func object(name string, parts ...part) *typ {
	return &typ{form: isObject, name: name, members: with(parts...)}
}

// table is an object whose members all have the same type.
func table(t *typ) *typ { return &typ{form: isObject, rest: t} }

func list(t *typ) *typ { return &typ{form: isList, elem: t} }

// words is a text that is one of those given.
func words(w ...string) *typ { return &typ{form: isText, words: w} }

// either is a value of the first type that takes its JSON type.
func either(t ...*typ) *typ { return &typ{form: oneOfForms, alternatives: t} }

// tagged is an object whose member tag names its type.
func tagged(tag string, cases ...part) *typ {
	return &typ{form: oneOfTags, tag: tag, cases: with(cases...)}
}

// when is a case of tagged.
func when(name string, t *typ) member { return member{name: name, typ: t} }

// orWithout is the type of objects that lack the tag.
func (t typ) orWithout(untagged *typ) *typ { t.untagged = untagged; return &t }

// shaped says that an object must also have one of the shapes. They are the
// one place where types are tried: the first that fits, or else the one whose
// required members are there, is what counts.
func (t typ) shaped(shapes ...member) *typ { t.shapes = shapes; return &t }

// shape is a shape of an object.
func shape(name string, parts ...part) member { return when(name, object(name, parts...)) }

// within bounds a number.
func (t typ) within(low, high float64) *typ { t.min, t.max = &low, &high; return &t }

func (t typ) atLeast(low float64) *typ { t.min = &low; return &t }

// atMost bounds the length of a list; the schema asserts it since r.
func (t typ) atMost(count int, r spec.Revision) *typ {
	t.most = &bound{count: count, asserted: span{first: r}}
	return &t
}

// also adds checks that stand beside the schema.
func (t typ) also(e ...extra) *typ {
	t.extras = append(slices.Clone(t.extras), e...)
	return &t
}

// compile returns t as the revision has it.
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

// takes reports whether a value of the JSON type that begins with kind can be
// of type t.
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

// permitted says in words what t is.
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

// caseNames lists what the tag may say.
func (t *typ) caseNames() []string {
	var names []string
	for _, c := range t.cases {
		names = append(names, c.name)
	}
	return names
}
