package generate

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Offer describes a server, so that requests can refer to what it offers.
type Offer struct {
	Revision  spec.Revision
	Transport spec.Transport
	// Declared are the server's capabilities. Nested ones are written with a
	// dot.
	Declared map[string]bool
	// Tools are the tools that may be called.
	Tools     []Tool
	Resources []string // URIs
	Templates []string // URI templates
	Prompts   []Prompt
	// Paged are the list methods with more than one page.
	Paged map[string]bool

	requestPositions []position // the result of the method positions
	schemas          map[string]*Schema
	// The orders (see the type order) of which the words are triples of steps, pairs with every
	// kind of result, and pairs of which some steps have invalid params.
	triple, pair, wrongPair order
}

// Tool is a tool that may be called.
type Tool struct {
	Name string
	// Input is the JSON Schema of its arguments.
	Input jsontext.Value
	// Tasks reports whether the tool may be called as a task.
	Tasks bool
}

// Prompt is one entry of prompts/list.
type Prompt struct {
	Name                string
	Arguments, Required []string
}

// Has reports whether the server declared the capability. It returns true for "", which stands for
// no capability.
func (o *Offer) Has(capability string) bool { return capability == "" || o.Declared[capability] }

// Prepare parses all schemas. It must be called once before anything is drawn.
func (o *Offer) Prepare() {
	o.schemas = map[string]*Schema{}
	for _, tool := range o.Tools {
		o.schemas["tool "+tool.Name] = NewSchema(tool.Input, o.Revision)
	}
	for _, m := range methods {
		if m.isIn(o.Revision) {
			o.schemas[m.name] = NewSchema(o.paramsSchema(m), o.Revision)
		}
	}
	o.requestPositions = o.positions()
	o.triple, o.pair, o.wrongPair = newOrder(o.steps(), 3), newOrder(o.stepsByOutcome(false), 2), newOrder(o.stepsByOutcome(true), 2)
}

// paramsSchema returns a JSON Schema of the params of a method, as far as the
// specification defines them.
func (o *Offer) paramsSchema(m Method) jsontext.Value {
	properties := map[string]any{"_meta": map[string]any{"type": "object"}}
	required := []any{}
	for name, p := range m.params {
		if !o.Revision.AtLeast(p.since) {
			continue
		}
		properties[name] = p.schema
		if p.required {
			required = append(required, name)
		}
	}
	return wire.JSON(map[string]any{"type": "object", "properties": properties, "required": required})
}
