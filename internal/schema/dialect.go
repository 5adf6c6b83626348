package schema

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"regexp"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// The schemas of tools come from servers, so they are untrusted: this package loads nothing that
// they refer to, and does not use schemas that are large, deeply nested, expensive to evaluate,
// or of an unknown dialect.

// maxSchema is the maximum size in bytes of a schema, and of a value that is judged by one.
const maxSchema = 256 << 10

// dialects are the known values of $schema, without scheme and empty fragment.
var dialects = map[string]*jsonschema.Draft{
	"json-schema.org/draft-04/schema":      jsonschema.Draft4,
	"json-schema.org/draft-06/schema":      jsonschema.Draft6,
	"json-schema.org/draft-07/schema":      jsonschema.Draft7,
	"json-schema.org/draft/2019-09/schema": jsonschema.Draft2019,
	"json-schema.org/draft/2020-12/schema": jsonschema.Draft2020,
}

// metaschema returns the metaschema of a dialect.
var metaschema = func() func(*jsonschema.Draft) *jsonschema.Schema {
	once := map[*jsonschema.Draft]func() *jsonschema.Schema{}
	for url, d := range dialects {
		once[d] = sync.OnceValue(func() *jsonschema.Schema {
			scheme := "http://"
			if strings.Contains(url, "/20") {
				scheme = "https://"
			}
			return newCompiler(d, new(bool)).MustCompile(scheme + url)
		})
	}
	return func(d *jsonschema.Draft) *jsonschema.Schema { return once[d]() }
}()

// draftsFor returns the dialects that a schema may have: the one that it names, or none if that
// dialect is unknown. Since revision 2025-11-25, the dialect of a schema that names none is
// 2020-12. Earlier revisions define no default, so with them the dialect may be draft-07 or
// 2020-12.
func draftsFor(schema []byte, r spec.Revision) []*jsonschema.Draft {
	if named := valueOf(schema, "$schema"); named != nil {
		url := strings.TrimSuffix(string(unquote(named)), "#")
		url = strings.TrimPrefix(strings.TrimPrefix(url, "http://"), "https://")
		if d := dialects[url]; d != nil {
			return []*jsonschema.Draft{d}
		}
		return nil
	}
	if r.HasDefaultDialect() {
		return []*jsonschema.Draft{jsonschema.Draft2020}
	}
	return []*jsonschema.Draft{jsonschema.Draft7, jsonschema.Draft2020}
}

// A schemaCache stores the results for schemas, because servers list the same
// schemas repeatedly.
type schemaCache struct {
	mutex    sync.Mutex // guards the maps
	problems map[uint64]string
	compiled map[uint64]compiledSchema
}

const maxCached = 1024

var seed = maphash.MakeSeed()

// memoize returns the stored result for key. If there is none, it calls find and stores the
// result. Concurrent callers may compute the same result twice.
func memoize[T any](mutex *sync.Mutex, store *map[uint64]T, key []byte, find func() T) T {
	sum := maphash.Bytes(seed, key)
	mutex.Lock()
	stored, ok := (*store)[sum]
	mutex.Unlock()
	if ok {
		return stored
	}
	found := find()
	mutex.Lock()
	defer mutex.Unlock()
	if *store == nil || len(*store) >= maxCached {
		*store = map[uint64]T{}
	}
	(*store)[sum] = found
	return found
}

// jsonSchema requires that v is a JSON Schema, valid in its dialect.
func jsonSchema(c *checker, v []byte) {
	cache := &c.v.schemas
	problem := memoize(&cache.mutex, &cache.problems, v, func() string { return schemaProblem(v, c.v.revision) })
	if problem != "" {
		c.addViolation(NotDialect, BeyondSchema, "a valid JSON Schema of its dialect", problem)
	}
}

// schemaProblem returns what is wrong with a schema, or "" if it is valid in one of its
// possible dialects or can't be judged.
func schemaProblem(v []byte, r spec.Revision) string {
	value, ok := decode(v)
	if !ok {
		return ""
	}
	problem := ""
	for _, d := range draftsFor(v, r) {
		judged, err := withoutPanic(func() error { return metaschema(d).Validate(value) })
		if problem = describeError(err); problem == "" || !judged {
			return ""
		}
	}
	return problem
}

// CheckStructuredContent judges a tool's structuredContent by the tool's outputSchema. Pointers
// begin at the structuredContent. It returns no violation if the schema is invalid or of an unknown
// dialect, refers to other documents, has a regular expression that is not valid in Go, or is too
// expensive to evaluate.
func (v *Validator) CheckStructuredContent(outputSchema, structuredContent jsontext.Value) []Violation {
	outputSchema, structuredContent = trimSpace(outputSchema), trimSpace(structuredContent)
	compiled := memoize(&v.schemas.mutex, &v.schemas.compiled, outputSchema, func() compiledSchema {
		return compileSchema(outputSchema, v.revision)
	})
	if len(compiled.dialects) == 0 {
		return nil
	}
	value, ok := decode(structuredContent)
	if !ok || !isAffordable(compiled.root, value) {
		return nil
	}
	var first []Violation
	for _, s := range compiled.dialects {
		judged, err := withoutPanic(func() error { return s.Validate(value) })
		problem := describeError(err)
		if problem == "" || !judged {
			return nil
		}
		if first == nil {
			first = []Violation{{
				Kind: NotStructured, Basis: BeyondSchema, Type: "CallToolResult",
				Permitted: "what the tool's outputSchema describes", Seen: problem,
			}}
		}
	}
	return first
}

// A compiledSchema is a server's schema, compiled for each of its possible
// dialects, and as a decoded value.
type compiledSchema struct {
	dialects []*jsonschema.Schema
	root     any
}

// compileSchema compiles a schema for its dialects. It returns no dialects if the schema does not
// compile for one of them, or if a regular expression is not valid in Go.
func compileSchema(v []byte, r spec.Revision) compiledSchema {
	value, ok := decode(v)
	if !ok {
		return compiledSchema{}
	}
	out := compiledSchema{root: value}
	for _, d := range draftsFor(v, r) {
		var s *jsonschema.Schema
		hasForeign := false
		judged, err := withoutPanic(func() error {
			const here = "schema:tool"
			c := newCompiler(d, &hasForeign)
			err := c.AddResource(here, value)
			if err == nil {
				s, err = c.Compile(here)
			}
			return err
		})
		if err != nil || !judged || hasForeign {
			return compiledSchema{}
		}
		out.dialects = append(out.dialects, s)
	}
	return out
}

// newCompiler returns a compiler that loads no other documents. The compiler accepts every regular
// expression, because some that ECMA-262 permits are not valid in Go. It sets *foreign if a schema
// has a regular expression that is not valid in Go.
func newCompiler(d *jsonschema.Draft, foreign *bool) *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(d)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(func(s string) (jsonschema.Regexp, error) {
		re, err := regexp.Compile(s)
		if err != nil {
			*foreign = true
			return regexp.MustCompile(""), nil
		}
		return re, nil
	})
	return c
}

type noLoader struct{}

// Load returns an error: schemas from a server may not refer to other documents.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not loaded: a server's schema must not refer to other documents", url)
}

// withoutPanic calls f, and returns the error of f as the verdict. If f panicked, judged is false.
// A server's schema or value may make the library panic, but must not end the program.
func withoutPanic(f func() error) (judged bool, verdict error) {
	defer func() {
		if recover() != nil {
			judged, verdict = false, nil
		}
	}()
	return true, f()
}

// describeError returns why and where a value was rejected. It returns "" if the value was
// accepted, or rejected only because of formats, which are not asserted.
func describeError(err error) string {
	var refused *jsonschema.ValidationError
	if !errors.As(err, &refused) {
		return ""
	}
	leaf := deepestCause(refused)
	if leaf == nil {
		return ""
	}
	where := "at the root"
	if len(leaf.InstanceLocation) > 0 {
		where = "at /" + strings.Join(leaf.InstanceLocation, "/")
	}
	return clip([]byte(leaf.BasicOutput().Error.String()), 2*maxExcerpt) + " " + excerpt([]byte(where))
}

// deepestCause returns the cause of e whose location in the value is the deepest; the first one, if
// there are several. It ignores formats.
func deepestCause(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		if _, format := e.ErrorKind.(*kind.Format); format {
			return nil
		}
		return e
	}
	var best *jsonschema.ValidationError
	for _, cause := range e.Causes {
		if leaf := deepestCause(cause); leaf != nil && (best == nil || len(leaf.InstanceLocation) > len(best.InstanceLocation)) {
			best = leaf
		}
	}
	return best
}

// decode returns the value in the form that the library needs, and false if the value is missing,
// is not JSON, is too large or too deeply nested, or has a number that is too large.
func decode(v []byte) (any, bool) {
	if len(v) == 0 || len(v) > maxSchema {
		return nil, false
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(v))
	return value, err == nil && isBounded(value, 0)
}
