package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// Limits on a file: bytes, levels of nesting, and the violations of the schema that are listed.
const (
	maxSize     = 1 << 20
	maxDepth    = 16
	maxProblems = 20
)

// writeAdvice is the advice for a file that is not a conformance report.
const writeAdvice = "mcp-conform run --report conformance=FILE writes one"

// A FileError describes why a file is not a conformance report.
type FileError struct {
	Path     string
	Problems []string // one sentence each
	Advice   string
}

func (e *FileError) Error() string { return e.Path + ": " + strings.Join(e.Problems, "; ") }

// Read reads a report and validates it against the schema. Its errors are of type
// *FileError.
func Read(path string) (*Report, error) {
	bad := func(advice, format string, args ...any) error {
		return &FileError{Path: path, Problems: []string{fmt.Sprintf(format, args...)}, Advice: advice}
	}
	f, err := os.Open(path)
	if err != nil {
		var bare *os.PathError
		if errors.As(err, &bare) {
			err = bare.Err
		}
		return nil, bad(writeAdvice, "it can't be read: %v", err)
	}
	defer func() { _ = f.Close() }() // opened for reading only
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, bad("", "it can't be read: %v", err)
	}
	return parse(path, text, bad)
}

func parse(path string, text []byte, bad func(advice, format string, args ...any) error) (*Report, error) {
	if len(text) > maxSize {
		return nil, bad(writeAdvice, "it has more than %d bytes, which no conformance report has", maxSize)
	}
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return nil, bad(writeAdvice, "it is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(document.Content) == 0 {
		return nil, bad(writeAdvice, "it is empty")
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, bad(writeAdvice, "a second document follows the report, after a line ---")
	}
	value, err := decodeValue(document.Content[0], 0)
	if err != nil {
		return nil, bad("", "%v", err)
	}
	top, _ := value.(map[string]any)
	if top["kind"] != Kind {
		return nil, bad(writeAdvice, "it is not a conformance report: its kind is not %s", Kind)
	}
	if v, ok := top["apiVersion"].(string); ok && v != APIVersion {
		if isNewer(v) {
			return nil, bad("use a newer mcp-conform", "it has the format %s, which is newer than %s, the newest that this mcp-conform reads", v, APIVersion)
		}
		return nil, bad("", "its apiVersion is %q, and should be %s", v, APIVersion)
	}
	if err := compiledSchema().Validate(value); err != nil {
		return nil, &FileError{Path: path, Problems: describeViolations(err), Advice: "docs/" + SchemaFile + " describes the format"}
	}
	r := &Report{}
	if err := document.Decode(r); err != nil {
		return nil, bad("", "%v", err)
	}
	return r, nil
}

// isNewer reports whether an apiVersion is that of a later version of this format.
func isNewer(v string) bool {
	family, number, _ := strings.Cut(APIVersion, "/v")
	theirs, newer, ok := strings.Cut(v, "/v")
	ours, _ := strconv.Atoi(number)
	n, err := strconv.Atoi(newer)
	return ok && theirs == family && err == nil && n > ours
}

// decodeValue returns a value as encoding/json represents it, except that whole numbers are int64,
// and that dates and other numbers are strings. Dates are strings because revisions look like
// dates.
func decodeValue(n *yaml.Node, depth int) (any, error) {
	switch {
	case depth > maxDepth:
		return nil, fmt.Errorf("line %d: it is nested deeper than %d levels", n.Line, maxDepth)
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return nil, fmt.Errorf("line %d: anchors (&) and aliases (*) are not supported", n.Line)
	case n.Kind == yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if _, twice := out[key]; twice || n.Content[i].Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("line %d: the key %q occurs twice, or is not a string", n.Content[i].Line, key)
			}
			value, err := decodeValue(n.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			out[key] = value
		}
		return out, nil
	case n.Kind == yaml.SequenceNode:
		out := []any{}
		for _, e := range n.Content {
			value, err := decodeValue(e, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		return out, nil
	}
	switch n.ShortTag() {
	case "!!int":
		if i, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
			return i, nil
		}
	case "!!bool":
		return n.Value == "true", nil
	case "!!null":
		return nil, nil
	}
	return n.Value, nil
}

// compiled returns the compiled schema.
var compiledSchema = sync.OnceValue(func() *jsonschema.Schema {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		panic(fmt.Sprintf("the schema of conformance reports is unreadable: %v", err))
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(SchemaFile, document); err != nil {
		panic(fmt.Sprintf("the schema of conformance reports is unreadable: %v", err))
	}
	return compiler.MustCompile(SchemaFile)
})

// describeViolations returns a phrase for each violation of the schema. If there are more than
// maxProblems, it returns only that many, and a phrase with the number of the rest.
func describeViolations(err error) []string {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []string{err.Error()}
	}
	var out []string
	var look func(e *jsonschema.ValidationError)
	look = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			look(cause)
		}
		if len(e.Causes) == 0 {
			out = append(out, "at "+pathText(e.InstanceLocation)+": "+e.BasicOutput().Error.String())
		}
	}
	look(invalid)
	slices.Sort(out)
	if more := len(out) - maxProblems; more > 0 {
		out = append(out[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return out
}

// pathText formats a path, such as profiles[0].core.kept. It returns "the top" for an empty path.
func pathText(path []string) string {
	var b strings.Builder
	for _, step := range path {
		switch _, err := strconv.Atoi(step); {
		case err == nil:
			fmt.Fprintf(&b, "[%s]", step)
		case b.Len() > 0:
			b.WriteString("." + step)
		default:
			b.WriteString(step)
		}
	}
	if b.Len() == 0 {
		return "the top"
	}
	return b.String()
}
