package streamablehttp

import (
	"context"
	"maps"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/headers"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

type exchange = transcript.Exchange

// maxHeaderTools bounds the tools whose arguments are sent as headers, and
// maxHeaderArguments the arguments of each.
const maxHeaderTools, maxHeaderArguments = 3, 4

// paramCase calls tools some of whose arguments are repeated in headers.
func paramCase() suite.Case {
	return suite.Case{
		ID:    "streamable-http.param-headers",
		Title: "Calls tools that have x-mcp-header with headers that are missing, wrong, superfluous, or in other forms",
		Provokes: []string{
			"streamable-http.param-header-match", "streamable-http.param-header-missing", "streamable-http.param-header-not-expected",
			"streamable-http.param-header-base64", "streamable-http.param-header-integer-numeric", "streamable-http.param-header-unknown-ignored",
			"streamable-http.header-invalid-chars",
		},
		Needs:              []string{"tools"},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			t.NeedsCallable()
			w := t.Web(t.Conversation(ctx))
			inventory.Walk(ctx, w.C, spec.MethodToolsList, "tools", 200) // which shows the client what to repeat
			tried, superfluous := 0, false
			for _, tool := range t.Inventory.Callable() {
				arguments, err := tool.Arguments()
				if err != nil || t.DisturbsOthers(tool) {
					continue
				}
				if !superfluous {
					post := poster(ctx, w, suite.ValidCall(tool.Name, arguments))
					if superfluous = suite.IsServed(post()); superfluous {
						post(suite.WithHeader(paramHeader+"Mcp-Conform", "x"))
					}
				}
				all := headerArguments(wire.At(tool.Raw, "/inputSchema"), nil)
				if len(all) == 0 || tried == maxHeaderTools {
					continue
				}
				tried++
				for _, a := range all[:min(len(all), maxHeaderArguments)] {
					callWithHeader(ctx, w, tool.Name, arguments, a)
				}
			}
			if tried == 0 {
				t.GiveUp("no tool that may be called has arguments with x-mcp-header")
			}
		},
	}
}

// A headerArgument is an argument of a tool that a header repeats.
type headerArgument struct {
	header   string // what follows Mcp-Param-
	path     []string
	schema   jsontext.Value
	required bool
}

// headerArguments returns the arguments that a schema marks, as far as a value can be made
// for each.
func headerArguments(schema jsontext.Value, path []string) []headerArgument {
	var out []headerArgument
	required := string(wire.At(schema, "/required"))
	names, properties := wire.Members(wire.At(schema, "/properties"))
	for _, name := range names {
		a := headerArgument{path: append(append([]string{}, path...), name), schema: properties[name], required: strings.Contains(required, string(wire.Quote(name)))}
		header, ok := wire.Text(wire.At(a.schema, "/x-mcp-header"))
		switch {
		case ok && a.sample() != nil:
			a.header = header
			out = append(out, a)
		case len(path) < 4 && wire.At(a.schema, "/required") == nil:
			out = append(out, headerArguments(a.schema, a.path)...)
		}
	}
	return out
}

// sample returns a value for the argument: the first one of its enum, if that is a string, or else
// one that its type and its bounds permit. It returns nil if other keywords may matter.
func (a headerArgument) sample() any {
	if values := wire.Elements(wire.At(a.schema, "/enum")); len(values) > 0 {
		text, ok := wire.Text(values[0])
		if !ok {
			return nil
		}
		return text
	}
	kind, _ := wire.Text(wire.At(a.schema, "/type"))
	switch kind {
	case "string":
		if a.isPlain() {
			return "mcp-conform"
		}
	case "integer":
		least, isBound := wire.Integer(wire.At(a.schema, "/minimum"))
		most, isLimited := wire.Integer(wire.At(a.schema, "/maximum"))
		value := int64(42)
		if isLimited {
			value = min(value, most)
		}
		if isBound {
			value = max(value, least)
		}
		if wire.At(a.schema, "/multipleOf") == nil {
			return value
		}
	case "boolean":
		return true
	}
	return nil
}

// isPlain reports whether any string will do.
func (a headerArgument) isPlain() bool {
	for _, keyword := range []string{"enum", "const", "pattern", "format", "minLength", "maxLength"} {
		if wire.At(a.schema, "/"+keyword) != nil {
			return false
		}
	}
	return true
}

// put returns arguments with a value for this one.
func (a headerArgument) put(arguments map[string]any, value any) map[string]any {
	return put(arguments, a.path, value)
}

func put(in map[string]any, path []string, value any) map[string]any {
	out := maps.Clone(in)
	if out == nil {
		out = map[string]any{}
	}
	if len(path) == 1 {
		out[path[0]] = value
		return out
	}
	inner, _ := out[path[0]].(map[string]any)
	out[path[0]] = put(inner, path[1:], value)
	return out
}

// callWithHeader calls a tool with changes of the header that repeats one argument.
func callWithHeader(ctx context.Context, w *suite.Web, tool string, arguments map[string]any, a headerArgument) {
	sample, header := a.sample(), paramHeader+a.header
	post := poster(ctx, w, suite.ValidCall(tool, a.put(arguments, sample)))
	if !suite.IsServed(post()) {
		return
	}
	var right, wrong string
	switch v := sample.(type) {
	case string:
		right, wrong = v, v+"-other"
	case int64:
		right, wrong = strconv.FormatInt(v, 10), strconv.FormatInt(v+1, 10)
		post(suite.WithHeader(header, right+".0"))
	case bool:
		right, wrong = "true", "false"
	}
	post(suite.WithHeader(header))
	post(suite.WithHeader(header, wrong))
	post(suite.WithHeader(header, "=?base64?%%%?="))
	post(suite.WithHeader(header, headers.EncodeBase64(right)))
	if _, isText := sample.(string); isText && a.isPlain() { // the client encodes them by itself
		for _, text := range []string{"Größe", " padded ", "two\nlines", "=?base64?literal?="} {
			poster(ctx, w, suite.ValidCall(tool, a.put(arguments, text)))()
		}
	}
	if _, given := arguments[a.path[0]]; !a.required && !given {
		poster(ctx, w, suite.ValidCall(tool, arguments))()
	}
}
