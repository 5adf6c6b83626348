package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// A valueForm is the JSON type that a type requires of a value.
type valueForm int

const (
	anyForm valueForm = iota
	objectForm
	arrayForm
	stringForm
	numberForm
	integerForm
	booleanForm
	nullForm
	unionForm  // the alternative that accepts the value's JSON type
	taggedForm // the case that a member of the object selects
)

// A schemaType is a type of the specification. In the source, its members, cases and limits
// have spans, which say in which revisions they exist. A compiled schemaType has only those of
// its revision. A schemaType is not modified after its creation.
type schemaType struct {
	form   valueForm
	name   string // of an object: its name in findings; may be empty
	place  Place  // compiled: of an object with a name
	extras []extraCheck

	members      []member // of an object
	index        map[string]int
	otherMembers *schemaType // of an object: the type of all other members; nil: anything
	shapes       []member    // of an object: it must also have one of these shapes

	elem        *schemaType   // of a list
	maxElements *elementLimit // of a list: the maximum number of elements

	enum     []string // of a string: the permitted values; nil: any
	min, max *float64 // of a number; nil if it has no such bound

	alternatives []*schemaType // of unionForm
	tag          string        // of taggedForm: the member that selects the case
	cases        []member
	untagged     *schemaType // of taggedForm: the type if that member is missing; may be nil
}

// A member is a member of an object, or a case of taggedForm.
type member struct {
	name     string
	typ      *schemaType
	required bool
	span     span
	place    Place // compiled: of a member of an object with a name
}

// A span is a range of revisions, from the first to the last. An empty first or last means that
// there is no bound on that side.
type span struct{ first, last spec.Revision }

func (s span) includes(r spec.Revision) bool {
	return r.AtLeast(s.first) && (s.last == "" || s.last.AtLeast(r))
}

// An elementLimit is a maximum number of elements. In some revisions the schema asserts it, in
// the others only the text of the specification does.
type elementLimit struct {
	max        int
	asserted   span
	isTextOnly bool // compiled: only the text of the revision states the limit
}

var (
	anyValue = &schemaType{form: anyForm}
	text     = &schemaType{form: stringForm}
	number   = &schemaType{form: numberForm}
	integer  = &schemaType{form: integerForm}
	boolean  = &schemaType{form: booleanForm}
	null     = &schemaType{form: nullForm}
	// record is an object with any members.
	record = &schemaType{form: objectForm}
)

// A part is a member of an object, or a group of members.
type part interface{ members() []member }

func (m member) members() []member { return []member{m} }

// A group is a set of members that several types share.
type group []member

func (g group) members() []member { return g }

// with joins parts into one group.
func with(parts ...part) group {
	var g group
	for _, p := range parts {
		g = append(g, p.members()...)
	}
	return g
}

// req returns a required member, opt an optional one.
func req(name string, t *schemaType) member { return member{name: name, typ: t, required: true} }
func opt(name string, t *schemaType) member { return member{name: name, typ: t} }

// since returns m, limited to revision r and later ones. The method until returns m, limited to
// revision r and earlier ones.
func (m member) since(r spec.Revision) member { m.span.first = r; return m }
func (m member) until(r spec.Revision) member { m.span.last = r; return m }

// ofTasks returns the member for 2025-11-25 only, the revision with experimental tasks.
func (m member) ofTasks() member { m.span = span{spec.V20251125, spec.V20251125}; return m }

// since returns the group, limited to revision r and later ones. Members that begin later keep
// their first revision.
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
func object(name string, parts ...part) *schemaType {
	return &schemaType{form: objectForm, name: name, members: with(parts...)}
}

// mapOf returns an object type whose members all have the same type.
func mapOf(t *schemaType) *schemaType { return &schemaType{form: objectForm, otherMembers: t} }

func list(t *schemaType) *schemaType { return &schemaType{form: arrayForm, elem: t} }

// enum returns a string type that permits only the given values.
func enum(w ...string) *schemaType { return &schemaType{form: stringForm, enum: w} }

// either returns a union: a value is judged by the first of the types that accepts its JSON type.
func either(t ...*schemaType) *schemaType { return &schemaType{form: unionForm, alternatives: t} }

// tagged returns an object type. The member whose name is tag selects the case that applies to an
// object.
func tagged(tag string, cases ...part) *schemaType {
	return &schemaType{form: taggedForm, tag: tag, cases: with(cases...)}
}

// when returns a case for tagged.
func when(name string, t *schemaType) member { return member{name: name, typ: t} }

// orUntagged sets the type of objects that lack the tag.
func (t schemaType) orUntagged(untagged *schemaType) *schemaType { t.untagged = untagged; return &t }

// shaped requires that an object also has one of the shapes. The object is judged by the first
// shape that it satisfies, otherwise by the first one whose required members are present.
func (t schemaType) shaped(shapes ...member) *schemaType { t.shapes = shapes; return &t }

// shape returns a shape of an object.
func shape(name string, parts ...part) member { return when(name, object(name, parts...)) }

// within sets the minimum and maximum of a number.
func (t schemaType) within(low, high float64) *schemaType { t.min, t.max = &low, &high; return &t }

func (t schemaType) atLeast(low float64) *schemaType { t.min = &low; return &t }

// atMost bounds the length of a list. The official schema asserts the bound since revision r.
func (t schemaType) atMost(count int, r spec.Revision) *schemaType {
	t.maxElements = &elementLimit{max: count, asserted: span{first: r}}
	return &t
}

// also adds checks that the official schema does not make.
func (t schemaType) also(e ...extraCheck) *schemaType {
	t.extras = append(slices.Clone(t.extras), e...)
	return &t
}

// compile returns t as it is in revision r. done maps each type that was already compiled to its
// compiled form.
func (t *schemaType) compile(r spec.Revision, done map[*schemaType]*schemaType) *schemaType {
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
	c.otherMembers, c.elem, c.untagged = t.otherMembers.compile(r, done), t.elem.compile(r, done), t.untagged.compile(r, done)
	c.shapes, _ = compileMembers(t.shapes, r, done)
	c.alternatives = compileAll(t.alternatives, r, done)
	if t.maxElements != nil {
		c.maxElements = &elementLimit{max: t.maxElements.max, isTextOnly: !t.maxElements.asserted.includes(r)}
	}
	return &c
}

func compileAll(types []*schemaType, r spec.Revision, done map[*schemaType]*schemaType) []*schemaType {
	var out []*schemaType
	for _, t := range types {
		out = append(out, t.compile(r, done))
	}
	return out
}

func compileMembers(members []member, r spec.Revision, done map[*schemaType]*schemaType) ([]member, map[string]int) {
	var out []member
	index := map[string]int{}
	for _, m := range members {
		if m.span.includes(r) {
			m.typ = m.typ.compile(r, done)
			index[m.name] = len(out)
			out = append(out, m)
		}
	}
	return out, index
}

// accepts reports whether t accepts values of the JSON type whose first byte is kind.
func (t *schemaType) accepts(kind byte) bool {
	switch t.form {
	case anyForm:
		return true
	case objectForm, taggedForm:
		return kind == '{'
	case arrayForm:
		return kind == '['
	case stringForm:
		return kind == '"'
	case numberForm, integerForm:
		return kind == '0'
	case booleanForm:
		return kind == 't' || kind == 'f'
	case nullForm:
		return kind == 'n'
	default:
		return slices.ContainsFunc(t.alternatives, func(a *schemaType) bool { return a.accepts(kind) })
	}
}

// describe returns t in words.
func (t *schemaType) describe() string {
	switch t.form {
	case anyForm:
		return "any value"
	case objectForm, taggedForm:
		if names := t.requiredNames(); t.form == objectForm && 0 < len(names) && len(names) <= maxNames {
			return "an object that has " + joinNames(names)
		}
		if t.name != "" {
			return "an object of type " + t.name
		}
		return "an object"
	case arrayForm:
		return "an array"
	case stringForm:
		if t.enum != nil {
			return describeWords(t.enum)
		}
		return "a string"
	case numberForm:
		return "a number" + t.describeBounds()
	case integerForm:
		return "an integer" + t.describeBounds()
	case booleanForm:
		return "true or false"
	case nullForm:
		return "null"
	default:
		var all []string
		for _, a := range t.alternatives {
			all = append(all, a.describe())
		}
		return strings.Join(all, " or ")
	}
}

func (t *schemaType) describeBounds() string {
	switch {
	case t.min != nil && t.max != nil:
		return " from " + formatBound(*t.min) + " to " + formatBound(*t.max)
	case t.min != nil:
		return " of " + formatBound(*t.min) + " or more"
	default:
		return ""
	}
}

// maxNames bounds how many required members a description of an object lists.
const maxNames = 3

// requiredNames returns the quoted names of the members that every object of type t must have.
func (t *schemaType) requiredNames() []string {
	var names []string
	for _, m := range t.members {
		if m.required {
			names = append(names, strconv.Quote(m.name))
		}
	}
	return names
}

// joinNames lists names in words.
func joinNames(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// caseNames returns the permitted values of the tag.
func (t *schemaType) caseNames() []string {
	var names []string
	for _, c := range t.cases {
		names = append(names, c.name)
	}
	return names
}
