package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// These tests compare the types with the official schemas, which are in the folder that
// MCP_SPEC_SCHEMAS names, as <revision>.json or <revision>/schema.json. They draw instances
// of each type that a server sends, and mutate each in one place. Both schemas must accept
// an instance, or both must reject it.

// comparisonsWanted is the minimum number of comparisons for each revision.
const comparisonsWanted = 20_000

// mutationsEach is how many mutations of each instance are compared.
const mutationsEach = 15

// exemptions are the accepted differences: values that the official schema rejects and this
// package accepts.
var exemptions = []struct {
	reason    string
	revisions []spec.Revision
	fits      func(e *jsonschema.ValidationError) bool
}{
	{
		"schema.ts lets a JSONValue be null or any number; the generator of schema.json left both out",
		[]spec.Revision{spec.V20260728},
		func(e *jsonschema.ValidationError) bool { return strings.HasSuffix(e.SchemaURL, "/$defs/JSONValue") },
	},
	{
		"schema.ts lets a form be filled in with any number; schema.json wants integers (a client's message)",
		[]spec.Revision{spec.V20250618, spec.V20251125, spec.V20260728},
		func(e *jsonschema.ValidationError) bool {
			return strings.Contains(e.SchemaURL, "/ElicitResult/properties/content/additionalProperties")
		},
	},
}

// A subject is one type that is compared.
type subject struct {
	name     string
	typ      *schemaType                        // the type that instances are drawn from
	wrap     func(value any) any                // embeds an instance in its message; may be nil
	official func(value any) *jsonschema.Schema // returns the official schema for the value
	judge    func(v *Validator, raw []byte) []Violation
}

func TestAgreesWithTheOfficialSchemas(t *testing.T) {
	folder := schemaFolder(t)
	exempt := make([]int, len(exemptions))
	whole := map[spec.Revision]bool{} // the revisions whose subtests all ran: -run excluded none
	for _, r := range spec.Revisions() {
		t.Run(string(r), func(t *testing.T) {
			o := readOfficial(t, folder, r)
			subjects := o.subjects(t, For(r))
			n, ran := 0, 0
			for _, s := range subjects {
				t.Run(s.name, func(t *testing.T) { ran++; o.compare(t, s, &n, exempt) })
			}
			t.Logf("%d comparisons of %d types", n, ran)
			if whole[r] = ran == len(subjects); !whole[r] {
				return
			}
			if n < comparisonsWanted {
				t.Errorf("%d comparisons; %d are wanted", n, comparisonsWanted)
			}
			o.allCompared(t)
		})
	}
	for i, x := range exemptions {
		t.Logf("%d comparisons were exempt: %s", exempt[i], x.reason)
		skipped := slices.ContainsFunc(x.revisions, func(r spec.Revision) bool { return !whole[r] })
		if exempt[i] == 0 && !skipped {
			t.Errorf("never needed: %s", x.reason)
		}
	}
}

// schemaFolder returns the folder of the official schemas. It skips the test if
// none is configured.
func schemaFolder(t *testing.T) string {
	folder := os.Getenv("MCP_SPEC_SCHEMAS")
	if folder == "" {
		t.Skip("MCP_SPEC_SCHEMAS does not name the folder of the official schemas, so nothing is compared with them")
	}
	return folder
}

func (o *official) compare(t *testing.T, s subject, n *int, exempt []int) {
	v, known := For(o.revision), namesIn(s.typ)
	rapid.Check(t, func(rt *rapid.T) {
		sound := drawInstance(rt, s.typ)
		for i := range 1 + mutationsEach {
			value := sound
			if i > 0 {
				if value = drawMutation(rt, sound, known); isDropped(value) {
					continue
				}
			}
			if s.wrap != nil {
				value = s.wrap(value)
			}
			raw := wire.JSON(value)
			*n++
			ours := asserted(s.judge(v, raw))
			theirs := s.official(value).Validate(value)
			if (len(ours) == 0) == (theirs == nil) {
				if i == 0 && theirs != nil {
					rt.Fatalf("a drawn instance is refused: %s\n%v", raw, theirs)
				}
				continue
			}
			if theirs != nil {
				if e := o.exemption(theirs); e >= 0 {
					exempt[e]++
					continue
				}
			}
			rt.Fatalf("%s\nhere: %v\nofficial: %v", raw, ours, theirs)
		}
	})
}

func asserted(all []Violation) []Violation {
	return slices.DeleteFunc(all, func(v Violation) bool { return v.Basis != Schema })
}

func (o *official) exemption(err error) int {
	var e *jsonschema.ValidationError
	if !errors.As(err, &e) {
		return -1
	}
	for i, x := range exemptions {
		if slices.Contains(x.revisions, o.revision) && hasCause(e, x.fits) {
			return i
		}
	}
	return -1
}

func hasCause(e *jsonschema.ValidationError, fits func(*jsonschema.ValidationError) bool) bool {
	return fits(e) || slices.ContainsFunc(e.Causes, func(c *jsonschema.ValidationError) bool { return hasCause(c, fits) })
}

// official is the official schema of one revision.
type official struct {
	revision spec.Revision
	compiler *jsonschema.Compiler
	defs     string // "definitions" or "$defs"
	all      map[string]any
	compiled map[string]*jsonschema.Schema
	used     map[string]bool
}

const officialURL = "schema:official"

func readOfficial(t *testing.T, folder string, r spec.Revision) *official {
	data, err := os.ReadFile(filepath.Join(folder, string(r)+".json"))
	if err != nil {
		data, err = os.ReadFile(filepath.Join(folder, string(r), "schema.json"))
	}
	if err != nil {
		t.Fatalf("the official schema can't be read: %v", err)
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	o := &official{revision: r, compiler: jsonschema.NewCompiler(), defs: "definitions", compiled: map[string]*jsonschema.Schema{}, used: map[string]bool{}}
	if r.AtLeast(spec.V20251125) {
		o.defs = "$defs"
	}
	o.all = doc[o.defs].(map[string]any)
	o.compiler.UseLoader(noLoader{})
	for _, name := range []string{"uri", "uri-template", "byte", "date-time"} {
		o.compiler.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	if err := o.compiler.AddResource(officialURL, doc); err != nil {
		t.Fatal(err)
	}
	return o
}

// at returns the schema at a path below the definitions.
func (o *official) at(path string) *jsonschema.Schema {
	name, _, _ := strings.Cut(path, "/")
	o.used[name] = true
	if o.compiled[path] == nil {
		o.compiled[path] = o.compiler.MustCompile(officialURL + "#/" + o.defs + "/" + path)
	}
	return o.compiled[path]
}

// both returns a schema that requires two definitions.
func (o *official) both(a, b string) *jsonschema.Schema {
	o.used[b] = true
	url := fmt.Sprintf("schema:%s-and-%s", a, b)
	if o.compiled[url] == nil {
		ref := func(name string) any { return map[string]any{"$ref": officialURL + "#/" + o.defs + "/" + name} }
		if err := o.compiler.AddResource(url, map[string]any{"allOf": []any{ref(a), ref(b)}}); err != nil {
			panic(err)
		}
		o.compiled[url] = o.compiler.MustCompile(url)
	}
	return o.compiled[url]
}

// withMethod returns the name of the definition of the message with this method.
func (o *official) withMethod(method, suffix string) string {
	for name, d := range o.all {
		properties, _ := d.(map[string]any)["properties"].(map[string]any)
		m, _ := properties["method"].(map[string]any)
		if m["const"] == method && strings.HasSuffix(name, suffix) && !strings.HasPrefix(name, "Client") {
			return name
		}
	}
	return ""
}

func (o *official) subjects(t *testing.T, v *Validator) []subject {
	out := o.messages(t, v.notifications, "Notification")
	out = append(out, o.messages(t, v.requests, "Request")...)
	for _, method := range sorted(v.results) {
		for _, c := range v.results[method] {
			out = append(out, subject{
				name: method + " " + c.typ.name, typ: c.typ, wrap: resultTyped(c.typ.name),
				official: func(value any) *jsonschema.Schema { return o.at(v.resultType(method, wire.JSON(value)).name) },
				judge:    func(v *Validator, raw []byte) []Violation { return v.CheckResult(method, raw) },
			})
		}
	}
	out = append(out, subject{
		name: "other result", typ: v.plain.result, official: func(any) *jsonschema.Schema { return o.at("Result") },
		judge: func(v *Validator, raw []byte) []Violation { return v.CheckResult("example/other", raw) },
	})
	return append(append(out, o.errors(v)...), o.parts()...)
}

// resultTyped sets the resultType by which the result's type is selected.
func resultTyped(name string) func(any) any {
	return func(value any) any {
		if o, _ := value.(map[string]any); o != nil && o["resultType"] != nil {
			switch _, isText := o["resultType"].(string); {
			case isText && name == "InputRequiredResult":
				o["resultType"] = "input_required"
			case isText && name != "Result":
				o["resultType"] = "complete"
			}
		}
		return value
	}
}

// messages returns subjects for messages: these are compared with their envelope, but only
// the params are mutated.
func (o *official) messages(t *testing.T, types map[string]*schemaType, suffix string) []subject {
	var out []subject
	for _, method := range sorted(types) {
		def := o.withMethod(method, suffix)
		if def == "" {
			t.Errorf("the official schema has no %s of the method %s", strings.ToLower(suffix), method)
			continue
		}
		schema := o.both("JSONRPC"+suffix, def)
		out = append(out, subject{
			name: def, typ: types[method],
			wrap: func(value any) any {
				message := map[string]any{"jsonrpc": "2.0", "method": method}
				if suffix == "Request" {
					message["id"] = json.Number("1")
				}
				if o, _ := value.(map[string]any); o != nil {
					if params, ok := o["params"]; ok {
						message["params"] = params
					}
				}
				return message
			},
			official: func(any) *jsonschema.Schema { return schema },
			judge:    func(v *Validator, raw []byte) []Violation { return v.CheckMessage(&wire.Parse(raw).Messages[0], "") },
		})
	}
	return out
}

// errors returns a subject for the error of each code.
func (o *official) errors(v *Validator) []subject {
	plain := "Error"
	if !o.revision.AtLeast(spec.V20251125) {
		plain = "JSONRPCError/properties/error"
	}
	judge := func(v *Validator, raw []byte) []Violation { return v.CheckError(raw) }
	out := []subject{{
		name: "Error", typ: v.plain.err, judge: judge, official: func(any) *jsonschema.Schema { return o.at(plain) },
	}}
	for code, t := range v.errors {
		out = append(out, subject{
			name: t.name, typ: t, judge: judge,
			wrap: func(value any) any {
				if e, ok := value.(map[string]any); ok {
					e["code"] = json.Number(fmt.Sprint(code))
				}
				return value
			},
			official: func(any) *jsonschema.Schema { return o.at(t.name + "/properties/error") },
		})
	}
	slices.SortFunc(out, func(a, b subject) int { return strings.Compare(a.name, b.name) })
	return out
}

// parts returns subjects for types inside messages, so that each is mutated often.
func (o *official) parts() []subject {
	var out []subject
	add := func(t *schemaType, path string, first spec.Revision) {
		if !o.revision.AtLeast(first) {
			return
		}
		t = t.compile(o.revision, map[*schemaType]*schemaType{})
		out = append(out, subject{
			name: path, typ: t, official: func(any) *jsonschema.Schema { return o.at(path) },
			judge: func(v *Validator, raw []byte) []Violation { return onlyViolations(v.judge("", raw, t)) },
		})
	}
	add(contentBlock, "PromptMessage/properties/content", "")
	add(contentBlock, "ContentBlock", spec.V20250618)
	if o.revision == spec.V20241105 {
		add(annotations.typ, "Annotated/properties/annotations", "")
	} else {
		add(annotations.typ, "Annotations", "")
	}
	add(serverCapabilities, "ServerCapabilities", "")
	add(implementation, "Implementation", "")
	add(tool, "Tool", "")
	add(resource, "Resource", "")
	add(resourceTemplate, "ResourceTemplate", "")
	add(prompt, "Prompt", "")
	add(resourceContents, "ReadResourceResult/properties/contents/items", "")
	add(object("", samplingMembers), "SamplingMessage", "")
	add(field, "PrimitiveSchemaDefinition", spec.V20250618)
	add(icon, "Icon", spec.V20251125)
	add(elicitParams, "ElicitRequestParams", spec.V20251125)
	if o.revision == spec.V20251125 {
		add(object("", task), "Task", "")
	}
	if o.revision == spec.V20260728 {
		add(samplingParams, "CreateMessageRequestParams", "")
		add(clientCapabilities, "ClientCapabilities", "")
	}
	return out
}

// allCompared checks that every message that the official schema lists for servers was a
// subject.
func (o *official) allCompared(t *testing.T) {
	for _, union := range []string{"ServerResult", "ServerNotification", "ServerRequest"} {
		u, _ := o.all[union].(map[string]any)
		members, _ := u["anyOf"].([]any)
		if u != nil && len(members) == 0 {
			t.Errorf("%s is not a union", union)
		}
		for _, m := range members {
			ref, _ := m.(map[string]any)["$ref"].(string)
			if name := ref[strings.LastIndexByte(ref, '/')+1:]; !o.used[name] && name != "GetTaskPayloadResult" {
				t.Errorf("%s names %s, which was not compared", union, name)
			}
		}
	}
}

func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
