package generate

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Offer is what is known of a server, so that it can be asked for what it has.
type Offer struct {
	Revision  spec.Revision
	Transport spec.Transport
	// Declared are the capabilities, those inside others with a dot.
	Declared map[string]bool
	// Tools are those that may be called.
	Tools     []Tool
	Resources []string // URIs
	Templates []string // URI templates
	Prompts   []Prompt
	// Paged are the methods of lists that have more than one page.
	Paged map[string]bool

	places  []spot // where values of the client's choice can stand
	schemas map[string]*Schema
	// Orders of requests: three of them, two with what can result from each, and two
	// of which some have wrong params.
	triple, pair, wrongPair order
}

// Tool is one that may be called.
type Tool struct {
	Name string
	// Input is the JSON Schema of its arguments.
	Input jsontext.Value
	// Tasks: it may be called as a task.
	Tasks bool
}

// Prompt is one entry of prompts/list.
type Prompt struct {
	Name                string
	Arguments, Required []string
}

// Has reports whether the server declared the capability; none is needed for "".
func (o *Offer) Has(capability string) bool { return capability == "" || o.Declared[capability] }

// Prepare reads all schemas, which must be done once before anything is drawn.
func (o *Offer) Prepare() {
	o.schemas = map[string]*Schema{}
	for _, tool := range o.Tools {
		o.schemas["tool "+tool.Name] = NewSchema(tool.Input, o.Revision)
	}
	for _, m := range methods {
		if m.exists(o.Revision) {
			o.schemas[m.name] = NewSchema(o.paramsSchema(m), o.Revision)
		}
	}
	o.places = o.placed()
	o.triple, o.pair, o.wrongPair = newOrder(o.steps(), 3), newOrder(o.endings(false), 2), newOrder(o.endings(true), 2)
}

// paramsSchema is the JSON Schema of the params of a method, as far as the
// specification says what they are.
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
