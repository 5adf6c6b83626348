package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-conform/mcp-conform/fixtures"
)

// Level is the RFC 2119 keyword of a requirement.
type Level string

// The levels.
const (
	Must      Level = "MUST"
	MustNot   Level = "MUST NOT"
	Should    Level = "SHOULD"
	ShouldNot Level = "SHOULD NOT"
	May       Level = "MAY"
)

// Basis says what a requirement rests on.
type Basis string

// The bases, strongest first.
const (
	// Keyword: the page has an upper-case RFC 2119 keyword of that level.
	Keyword Basis = "keyword"
	// Schema: a message that breaks it does not validate.
	Schema Basis = "schema"
	// Incorporated: a MUST of JSON-RPC 2.0 or SSE that MCP obliges to, or the
	// plain meaning of a declared capability.
	Incorporated Basis = "incorporated"
	// JSONRPC: weaker words of another standard that the page refers to.
	JSONRPC Basis = "json-rpc"
	// Derived: a fact, lower case, an example, or a consequence.
	Derived Basis = "derived"
)

// Grade is the worst that a deviation from a requirement can be called.
type Grade int

// The grades, mildest first.
const (
	GradeNote Grade = iota
	GradeWarning
	GradeBroken
)

func (g Grade) String() string {
	return [...]string{"note", "warning", "broken"}[g]
}

// Testable says whether a black-box harness can see a requirement kept or broken.
type Testable string

// The values of Testable.
const (
	Yes         Testable = "yes"
	Conditional Testable = "conditional"
	No          Testable = "no"
)

// Trait says something of a requirement on which it depends how it is judged.
type Trait string

// The traits.
const (
	// Capacity: it is about whether the server has room for several clients, so
	// that a refusal because there is no room counts.
	Capacity Trait = "capacity"
	// Notice: a server breaks it by not sending a notification, for which it has
	// some time.
	Notice Trait = "notice"
	// Bytes: only the bytes of a message show it, not the values.
	Bytes Trait = "bytes"
	// Timing: only the times of messages show it.
	Timing Trait = "timing"
)

// Language is that of a snippet, and with it the official SDK that it uses.
type Language string

// The languages.
const (
	TypeScript Language = "typescript"
	Python     Language = "python"
	Go         Language = "go"
)

// Languages returns all languages, in the order in which they are shown.
func Languages() []Language { return []Language{TypeScript, Python, Go} }

// Requirement is one entry of the catalogue.
type Requirement struct {
	ID         string   `yaml:"id"`
	Statement  string   `yaml:"statement"` // in our own words
	Level      Level    `yaml:"level"`
	Bases      Bases    `yaml:"basis"`
	Revisions  []string `yaml:"revisions"`
	Transports Carriers `yaml:"transports"`
	Section    string   `yaml:"section"`  // page and heading under docs/specification/<revision>/
	Needs      []string `yaml:"needs"`    // vocabulary: head of fixtures/requirements/base.yaml
	Testable   Testable `yaml:"testable"` // by a black-box harness
	Observe    string   `yaml:"observe"`  // how to see it

	// Why, Cause and Fix are a sentence each, for whoever has to act on a deviation:
	// what it does to a client, what it usually results from, and what is done about
	// it. Snippets are code of that, by Language. All may be empty.
	Why      string              `yaml:"why"`
	Cause    string              `yaml:"cause"`
	Fix      string              `yaml:"fix"`
	Snippets map[Language]string `yaml:"snippets"`

	Traits []Trait `yaml:"traits"`
	// NotJudged is why no case and no rule judges a requirement that can be
	// tested in a handshake revision; empty where one does.
	NotJudged string `yaml:"not_judged"`
	// Variations are the legal variations of the reference server that make use
	// of a MAY, without "legal/"; NoVariation is why there are none.
	Variations  []string `yaml:"variations"`
	NoVariation string   `yaml:"no_variation"`

	// Area is that of the id, and the name of the entry's file; see Areas.
	Area string `yaml:"-"`
}

// Bases holds the basis of a requirement, one for all revisions or one each.
type Bases struct {
	all Basis
	per map[Revision]Basis
}

// UnmarshalYAML reads a word, or a map from revision to word.
func (b *Bases) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&b.all)
	}
	return n.Decode(&b.per)
}

// Carriers lists the transports that a requirement applies to; empty means any.
type Carriers []Transport

// UnmarshalYAML reads the word any, or a list.
func (c *Carriers) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		if n.Value != "any" {
			return fmt.Errorf("line %d: transports is %q; it must be any or a list", n.Line, n.Value)
		}
		return nil
	}
	return n.Decode((*[]Transport)(c))
}

// Basis returns what the requirement rests on in revision r.
func (q *Requirement) Basis(r Revision) Basis {
	if q.Bases.per != nil {
		return q.Bases.per[r]
	}
	return q.Bases.all
}

// NewestJudged returns the newest revision of the requirement that a run judges;
// the newest of all where it judges none of them.
func (q *Requirement) NewestJudged() Revision {
	newest := NewestFirst(q.Revisions)
	for _, r := range newest {
		if Revision(r).Era() == Handshake {
			return Revision(r)
		}
	}
	return Revision(newest[0])
}

// AppliesTo reports whether the requirement exists in revision r over transport t.
func (q *Requirement) AppliesTo(r Revision, t Transport) bool {
	return slices.Contains(q.Revisions, string(r)) && (len(q.Transports) == 0 || slices.Contains(q.Transports, t))
}

// InEra reports whether a revision of the era has the requirement, over a
// transport of that revision.
func (q *Requirement) InEra(e Era) bool {
	return slices.ContainsFunc(Revisions(), func(r Revision) bool {
		return r.Era() == e && slices.ContainsFunc(Transports(), func(t Transport) bool { return t.DefinedIn(r) && q.AppliesTo(r, t) })
	})
}

// Grade returns the worst that a deviation in revision r can be called: a
// MUST breaks only on a basis that carries it, everything that rests on a
// weaker one warns at most, and a MAY is never more than a note.
func (q *Requirement) Grade(r Revision) Grade {
	switch q.Level {
	case May:
		return GradeNote
	case Should, ShouldNot:
		return GradeWarning
	}
	switch q.Basis(r) {
	case Keyword, Schema, Incorporated:
		return GradeBroken
	default:
		return GradeWarning
	}
}

// Catalogue is the set of all requirements, in the order of their files.
type Catalogue struct {
	list []*Requirement
	byID map[string]*Requirement
}

// All returns every requirement; callers must not alter them.
func (c *Catalogue) All() []*Requirement { return c.list }

// Lookup returns the requirement with the given id, or nil.
func (c *Catalogue) Lookup(id string) *Requirement { return c.byID[id] }

// Has reports whether the requirement with the given id has the trait.
func (c *Catalogue) Has(id string, t Trait) bool {
	q := c.byID[id]
	return q != nil && slices.Contains(q.Traits, t)
}

// Requirements returns the catalogue built into the program. It is read on
// first use, which takes some 25 ms; a catalogue that can't be read is a
// defect of the build, so it panics.
var Requirements = sync.OnceValue(func() *Catalogue {
	c, err := ReadCatalogue(fixtures.Requirements)
	if err != nil {
		panic(fmt.Sprintf("the built-in requirement catalogue is unreadable: %v", err))
	}
	return c
})

// ReadCatalogue reads requirements/*.yaml below fsys and checks every entry;
// the error lists all that is wrong, with file and id.
func ReadCatalogue(fsys fs.FS) (*Catalogue, error) {
	files, err := fs.Glob(fsys, "requirements/*.yaml")
	if err != nil {
		return nil, err
	}
	c := &Catalogue{byID: map[string]*Requirement{}}
	var errs []error
	for _, file := range files {
		entries, err := readArea(fsys, file)
		if err != nil {
			errs = append(errs, err)
		}
		for _, q := range entries {
			if c.byID[q.ID] != nil {
				errs = append(errs, fmt.Errorf("%s: %s: the id is used twice", file, q.ID))
			}
			c.byID[q.ID] = q
			c.list = append(c.list, q)
		}
	}
	slices.SortStableFunc(c.list, func(a, b *Requirement) int { return slices.Index(areas, a.Area) - slices.Index(areas, b.Area) })
	if len(files) == 0 {
		errs = append(errs, errors.New("no requirements/*.yaml found"))
	}
	return c, errors.Join(errs...)
}

func readArea(fsys fs.FS, file string) ([]*Requirement, error) {
	f, err := fsys.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var entries []*Requirement
	dec := yaml.NewDecoder(f)
	dec.KnownFields(true)
	if err := dec.Decode(&entries); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var errs []error
	for _, q := range entries {
		q.Area = AreaOf(q.ID)
		if file != "requirements/"+q.Area+".yaml" || !slices.Contains(areas, q.Area) {
			errs = append(errs, fmt.Errorf("%s: %s: an entry belongs into the file of its area, which is the first word of its id: %s", file, q.ID, strings.Join(areas, " ")))
		}
		if err := q.check(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", file, q.ID, err))
		}
	}
	return entries, errors.Join(errs...)
}

func (q *Requirement) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if q.ID == "" || q.Statement == "" || q.Section == "" || q.Observe == "" {
		bad("id, statement, section and observe must not be empty")
	}
	if !slices.Contains([]Level{Must, MustNot, Should, ShouldNot, May}, q.Level) {
		bad("level is %q", q.Level)
	}
	if !slices.Contains([]Testable{Yes, Conditional, No}, q.Testable) {
		bad("testable is %q", q.Testable)
	}
	if len(q.Revisions) == 0 {
		bad("revisions is empty")
	}
	for _, r := range q.Revisions {
		if !Revision(r).Published() {
			bad("revision %q is not published", r)
		}
		if !slices.Contains([]Basis{Keyword, Schema, Incorporated, JSONRPC, Derived}, q.Basis(Revision(r))) {
			bad("basis in %s is %q", r, q.Basis(Revision(r)))
		}
	}
	for r := range q.Bases.per {
		if !slices.Contains(q.Revisions, string(r)) {
			bad("basis names %s, which revisions does not", r)
		}
	}
	for _, t := range q.Transports {
		if !slices.Contains(Transports(), t) {
			bad("transport %q is not known", t)
		}
	}
	for _, t := range q.Traits {
		if !slices.Contains([]Trait{Capacity, Notice, Bytes, Timing}, t) {
			bad("trait %q is not known", t)
		}
	}
	if (q.Why != "") != (q.Fix != "") || q.Fix == "" && (q.Cause != "" || q.Snippets != nil) {
		bad("why and fix are given together; cause and snippets only with them")
	}
	for l := range q.Snippets {
		if !slices.Contains(Languages(), l) {
			bad("the language %q of a snippet is not known", l)
		}
	}
	switch {
	case q.NotJudged != "" && (q.Level == May || q.Testable == No):
		bad("not_judged is given, though nothing could judge it: level %s, testable %s", q.Level, q.Testable)
	case q.Level != May && (q.Variations != nil || q.NoVariation != ""):
		bad("variations and no_variation are of a MAY only")
	case q.Variations != nil && q.NoVariation != "":
		bad("variations and no_variation exclude each other")
	}
	return errors.Join(errs...)
}
