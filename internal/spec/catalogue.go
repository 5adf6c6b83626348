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

// A Level is the RFC 2119 keyword of a requirement.
type Level string

// The levels of requirements.
const (
	Must      Level = "MUST"
	MustNot   Level = "MUST NOT"
	Should    Level = "SHOULD"
	ShouldNot Level = "SHOULD NOT"
	May       Level = "MAY"
)

// A Basis is what a requirement rests on.
type Basis string

// The bases, strongest first.
const (
	// Keyword: the page of the specification has an upper-case RFC 2119 keyword of the
	// requirement's level.
	Keyword Basis = "keyword"
	// Schema: a message that breaks the requirement does not validate against the schema.
	Schema Basis = "schema"
	// Incorporated: a MUST of a standard that MCP requires servers to follow (JSON-RPC 2.0 or
	// SSE), or the plain meaning of a declared capability.
	Incorporated Basis = "incorporated"
	// JSONRPC: text of another standard that the page refers to, other than a MUST that counts as
	// Incorporated.
	JSONRPC Basis = "json-rpc"
	// Derived: a statement of fact, a lower-case keyword, an example, or a
	// consequence of other text.
	Derived Basis = "derived"
)

// DisplayName returns the name of the basis for users. JSONRPC stands for any standard that MCP
// builds on, such as JSON-RPC or OAuth.
func (b Basis) DisplayName() string {
	switch b {
	case JSONRPC:
		return "another standard"
	case Derived:
		return "implied"
	}
	return string(b)
}

// A Grade is the most severe result that a deviation can have.
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

// Testable is whether a black-box test can observe that a requirement is kept or broken.
type Testable string

// The values of Testable.
const (
	Yes         Testable = "yes"
	Conditional Testable = "conditional"
	No          Testable = "no"
)

// A Trait is a property of a requirement that affects how it is judged.
type Trait string

// The traits.
const (
	// Capacity: the requirement is about serving several clients, so a refusal counts as a
	// deviation even if the server is at its limit.
	Capacity Trait = "capacity"
	// Notice: a server breaks the requirement by not sending a notification in time, see
	// verdict.NoticeTime.
	Notice Trait = "notice"
	// Bytes: only the bytes of a message show a deviation, not the parsed values.
	Bytes Trait = "bytes"
	// Timing: only the times of messages show a deviation.
	Timing Trait = "timing"
	// Survival: the checks of the requirement send messages that make careless servers crash. A
	// deviation then counts as the weakness CrashCWE, unless the requirement's CWE names another.
	Survival Trait = "survival"
	// Walks: the requirement is judged by reading all pages of a list. If the list changes
	// meanwhile, that may look like a deviation.
	Walks Trait = "walks"
	// Cancels: the requirement is about requests that one side cancels.
	Cancels Trait = "cancels"
	// ProcessEnd: the requirement is about how a process ends, which a server in the
	// client's own process does not show.
	ProcessEnd Trait = "process-end"
)

// A Language is the language of a snippet, and of the official SDK that it uses.
type Language string

// The languages.
const (
	TypeScript Language = "typescript"
	Python     Language = "python"
	Go         Language = "go"
)

// Languages returns all languages, in display order.
func Languages() []Language { return []Language{TypeScript, Python, Go} }

// A Requirement is one entry of the catalogue.
type Requirement struct {
	ID         string   `yaml:"id"`
	Statement  string   `yaml:"statement"` // in our own words
	Level      Level    `yaml:"level"`
	Bases      Bases    `yaml:"basis"`
	Revisions  []string `yaml:"revisions"`
	Transports Carriers `yaml:"transports"`
	Section    string   `yaml:"section"`  // page and heading under docs/specification/<revision>/
	Needs      []string `yaml:"needs"`    // see the head of fixtures/requirements/base.yaml
	Testable   Testable `yaml:"testable"` // whether a black-box test can observe a deviation
	Observe    string   `yaml:"observe"`  // how to observe it

	// Why, Cause and Fix are one sentence each, for users who have to act on a deviation:
	// how it affects a client, what usually causes it, and how to fix it. Snippets show the
	// fix in code, by Language. All may be empty.
	Why      string              `yaml:"why"`
	Cause    string              `yaml:"cause"`
	Fix      string              `yaml:"fix"`
	Snippets map[Language]string `yaml:"snippets"`

	// CWE is the number of the weakness (https://cwe.mitre.org) of a server that breaks the
	// requirement; 0 if none is known. See Weakness for requirements with the trait Survival.
	CWE int `yaml:"cwe"`

	Traits []Trait `yaml:"traits"`
	// NotJudged is the reason why no case and no rule judges a requirement that is testable
	// in a handshake revision; empty if a case or a rule judges it.
	NotJudged string `yaml:"not_judged"`
	// Variations are the legal variations of the reference server that do what a MAY permits,
	// without the prefix "legal/". NoVariation is the reason why a MAY has none.
	Variations  []string `yaml:"variations"`
	NoVariation string   `yaml:"no_variation"`

	// Area is the first word of the id, and the name of the entry's file.
	Area string `yaml:"-"`
}

// Bases holds the basis of a requirement: one for all revisions, or one for each revision.
type Bases struct {
	all Basis
	per map[Revision]Basis
}

// UnmarshalYAML reads a single basis, or a map from revision to basis.
func (b *Bases) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&b.all)
	}
	return n.Decode(&b.per)
}

// Carriers lists the transports that a requirement applies to; empty means all.
type Carriers []Transport

// UnmarshalYAML reads the word any, or a list of transports.
func (c *Carriers) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		if n.Value != "any" {
			return fmt.Errorf("line %d: transports is %q; it must be any or a list", n.Line, n.Value)
		}
		return nil
	}
	return n.Decode((*[]Transport)(c))
}

// Basis returns the basis of the requirement in revision r.
func (q *Requirement) Basis(r Revision) Basis {
	if q.Bases.per != nil {
		return q.Bases.per[r]
	}
	return q.Bases.all
}

// NewestJudged returns the newest handshake revision among the requirement's revisions; if there is
// none, the newest of its revisions.
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

// InEra reports whether the requirement applies to a revision of the era, over a
// transport that this revision defines.
func (q *Requirement) InEra(e Era) bool {
	return slices.ContainsFunc(Revisions(), func(r Revision) bool {
		return r.Era() == e && slices.ContainsFunc(Transports(), func(t Transport) bool { return t.IsDefinedIn(r) && q.AppliesTo(r, t) })
	})
}

// IsOfHandshake reports whether the requirement is in the area of the lifecycle or of versioning.
// If a server breaks the handshake, nothing else can be judged.
func (q *Requirement) IsOfHandshake() bool {
	return q.Area == AreaLifecycle || q.Area == AreaVersioning
}

// ServerNeeds returns the capabilities of a server that the requirement needs.
func (q *Requirement) ServerNeeds() []string {
	return slices.DeleteFunc(slices.Clone(q.Needs), func(need string) bool {
		capability, _, _ := strings.Cut(need, ".")
		return !slices.Contains(serverCapabilities, capability)
	})
}

// Weakness returns the CWE number of the weakness that a deviation shows, or 0 if there is
// none.
func (q *Requirement) Weakness() int {
	if q.CWE == 0 && slices.Contains(q.Traits, Survival) {
		return CrashCWE
	}
	return q.CWE
}

// Grade returns the most severe result of a deviation in revision r: a MUST can
// be broken only if its basis is a keyword, the schema or incorporated; any
// other MUST and a SHOULD warn at most; a MAY is never more than a note.
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

// A Catalogue is the set of all requirements, in the order of Areas.
type Catalogue struct {
	list []*Requirement
	byID map[string]*Requirement
	// applying caches the results of Applying.
	applying sync.Map
}

// Applying returns the ids of the requirements that exist in revision r over transport t. Callers
// must not modify the map.
func (c *Catalogue) Applying(r Revision, t Transport) map[string]bool {
	type key struct {
		r Revision
		t Transport
	}
	if ids, ok := c.applying.Load(key{r, t}); ok {
		return ids.(map[string]bool)
	}
	ids := map[string]bool{}
	for _, q := range c.list {
		if q.AppliesTo(r, t) {
			ids[q.ID] = true
		}
	}
	c.applying.Store(key{r, t}, ids)
	return ids
}

// All returns every requirement; callers must not modify them.
func (c *Catalogue) All() []*Requirement { return c.list }

// Lookup returns the requirement with the given id, or nil.
func (c *Catalogue) Lookup(id string) *Requirement { return c.byID[id] }

// Has reports whether the requirement with the given id has the trait.
func (c *Catalogue) Has(id string, t Trait) bool {
	q := c.byID[id]
	return q != nil && slices.Contains(q.Traits, t)
}

// Requirements returns the built-in catalogue. It is read on first use, which
// takes some 20 ms. A catalogue that can't be read is a defect of the build, so
// Requirements panics; CheckCatalogue returns the error.
func Requirements() *Catalogue {
	c, err := builtIn()
	if err != nil {
		panic(err.Error())
	}
	return c
}

// CheckCatalogue returns an error if the built-in catalogue can't be read.
func CheckCatalogue() error {
	_, err := builtIn()
	return err
}

var builtIn = sync.OnceValues(func() (*Catalogue, error) {
	c, err := ReadCatalogue(fixtures.Requirements)
	if err != nil {
		return nil, fmt.Errorf("the built-in requirement catalogue can't be read: %w", err)
	}
	return c, nil
})

// ReadCatalogue reads requirements/*.yaml in fsys and checks every entry. The error lists
// all problems, with file and id.
func ReadCatalogue(fsys fs.FS) (*Catalogue, error) {
	files, err := fs.Glob(fsys, "requirements/*.yaml")
	if err != nil {
		return nil, err
	}
	c := &Catalogue{byID: map[string]*Requirement{}}
	entries, errs := make([][]*Requirement, len(files)), make([]error, len(files))
	var reading sync.WaitGroup // every command waits for the catalogue, so the files are read concurrently
	for i, file := range files {
		reading.Go(func() { entries[i], errs[i] = readArea(fsys, file) })
	}
	reading.Wait()
	for i, file := range files {
		for _, q := range entries[i] {
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
