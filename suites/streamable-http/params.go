package streamablehttp

import (
	"context"
	"encoding/json"
	"maps"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/generate"
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
			t.RequireCallableTool()
			w := t.Web(t.Conversation(ctx))
			inventory.Walk(ctx, w.C, spec.MethodToolsList, "tools", 200) // the list says which arguments the client repeats
			tried, superfluous := 0, false
			for _, tool := range t.Inventory.Callable() {
				arguments, err := tool.Arguments()
				if err != nil || t.DisturbsOthers(tool) {
					continue
				}
				if !superfluous {
					post := newPostFunc(ctx, w, suite.ValidCall(tool.Name, arguments))
					if superfluous = suite.IsServed(post()); superfluous {
						post(suite.WithHeader(paramHeader+"Mcp-Conform", "x"))
					}
				}
				all := headerArguments(wire.At(tool.Raw, "/inputSchema"))
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
	headers.Argument
	takesAnyText bool
	value        any // a valid one: a string, bool or integer json.Number
}

// headerArguments returns the arguments that the schema marks with x-mcp-header, without those for
// which no value can be generated.
func headerArguments(schema jsontext.Value) []headerArgument {
	var out []headerArgument
	for _, a := range headers.MirroredArguments(schema) {
		sub, ok := propertyAt(schema, a.Path)
		if !ok {
			continue
		}
		value, err := generate.Value(sub)
		if err != nil {
			continue
		}
		switch value.(type) {
		case json.Number:
			if a.Type != "integer" {
				continue // no header may mirror a number
			}
		case string, bool:
		default:
			continue
		}
		out = append(out, headerArgument{a, generate.TakesAnyText(sub), value})
	}
	return out
}

// propertyAt returns the schema of the property at a path. It returns false if an object on the way
// requires members, because an object with this property alone is then not valid.
func propertyAt(schema jsontext.Value, path []string) (jsontext.Value, bool) {
	for i, name := range path {
		if i > 0 && wire.At(schema, "/required") != nil {
			return nil, false
		}
		_, properties := wire.Members(wire.At(schema, "/properties"))
		schema = properties[name]
	}
	return schema, true
}

// withValue returns a copy of arguments in which this argument has the given value.
func (a headerArgument) withValue(arguments map[string]any, value any) map[string]any {
	return withValueAt(arguments, a.Path, value)
}

func withValueAt(in map[string]any, path []string, value any) map[string]any {
	out := maps.Clone(in)
	if out == nil {
		out = map[string]any{}
	}
	if len(path) == 1 {
		out[path[0]] = value
		return out
	}
	inner, _ := out[path[0]].(map[string]any)
	out[path[0]] = withValueAt(inner, path[1:], value)
	return out
}

// callWithHeader calls a tool several times, each time with another change of the header that
// repeats the argument.
func callWithHeader(ctx context.Context, w *suite.Web, tool string, arguments map[string]any, a headerArgument) {
	header := paramHeader + a.Name
	post := newPostFunc(ctx, w, suite.ValidCall(tool, a.withValue(arguments, a.value)))
	if !suite.IsServed(post()) {
		return
	}
	var right, wrong string
	switch v := a.value.(type) {
	case string:
		right, wrong = v, v+"-other"
	case json.Number:
		right, wrong = v.String(), v.String()+"1"
		post(suite.WithHeader(header, right+".0"))
	case bool:
		right, wrong = strconv.FormatBool(v), strconv.FormatBool(!v)
	}
	post(suite.WithHeader(header))
	post(suite.WithHeader(header, headers.Encode(wrong)))
	post(suite.WithHeader(header, "=?base64?%%%?="))
	post(suite.WithHeader(header, headers.EncodeBase64(right)))
	if a.takesAnyText { // the client encodes them by itself
		for _, text := range []string{"Größe", " padded ", "two\nlines", "=?base64?literal?="} {
			newPostFunc(ctx, w, suite.ValidCall(tool, a.withValue(arguments, text)))()
		}
	}
	if _, given := arguments[a.Path[0]]; !given {
		newPostFunc(ctx, w, suite.ValidCall(tool, arguments))()
	}
}
