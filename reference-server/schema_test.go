package refserver_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// resultTypes names the schema's type for the result of each method.
var resultTypes = map[string]string{
	spec.MethodInitialize:           "InitializeResult",
	spec.MethodPing:                 "EmptyResult",
	spec.MethodToolsList:            "ListToolsResult",
	spec.MethodToolsCall:            "CallToolResult",
	spec.MethodResourcesList:        "ListResourcesResult",
	spec.MethodResourcesTemplates:   "ListResourceTemplatesResult",
	spec.MethodResourcesRead:        "ReadResourceResult",
	spec.MethodResourcesSubscribe:   "EmptyResult",
	spec.MethodResourcesUnsubscribe: "EmptyResult",
	spec.MethodPromptsList:          "ListPromptsResult",
	spec.MethodPromptsGet:           "GetPromptResult",
	spec.MethodComplete:             "CompleteResult",
	spec.MethodSetLevel:             "EmptyResult",
}

// taskResultTypes names the result types of the task methods, which exist only in
// 2025-11-25.
var taskResultTypes = map[string]string{
	spec.MethodTasksGet:    "GetTaskResult",
	spec.MethodTasksResult: "CallToolResult",
	spec.MethodTasksList:   "ListTasksResult",
	spec.MethodTasksCancel: "CancelTaskResult",
}

// statelessResultTypes names the result types of the methods that only stateless
// revisions have.
var statelessResultTypes = map[string]string{
	spec.MethodDiscover: "DiscoverResult",
	spec.MethodListen:   "SubscriptionsListenResult",
}

// resultType returns the schema's type for a result.
func resultType(method string, result any) string {
	o, _ := result.(map[string]any)
	if o["resultType"] == "input_required" {
		return "InputRequiredResult"
	}
	if name, ok := statelessResultTypes[method]; ok {
		return name
	}
	if _, isTask := o["task"]; isTask && method == spec.MethodToolsCall {
		return "CreateTaskResult"
	}
	if name, ok := taskResultTypes[method]; ok {
		return name
	}
	return resultTypes[method]
}

// An officialSchema is the official schema of a revision. It permits unknown
// members, as the schemas do.
type officialSchema struct {
	compiler *jsonschema.Compiler
	url      string
	byMethod map[string]string // the type of each request or notification
	types    map[string]bool
	mu       sync.Mutex
}

func loadOfficial(t *testing.T, r spec.Revision) *officialSchema {
	t.Helper()
	folder := os.Getenv("MCP_SPEC_SCHEMAS")
	if folder == "" {
		t.Skip("MCP_SPEC_SCHEMAS is not set: it names the folder with the official <revision>.json schemas")
	}
	text, err := os.ReadFile(filepath.Join(folder, string(r)+".json"))
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &officialSchema{compiler: jsonschema.NewCompiler(), byMethod: map[string]string{}, types: map[string]bool{}}
	section := "$defs"
	if _, old := document.(map[string]any)["definitions"]; old {
		section = "definitions"
	}
	o.url = "mem:///" + string(r) + ".json"
	for name, def := range document.(map[string]any)[section].(map[string]any) {
		o.types[name] = true
		properties, _ := def.(map[string]any)["properties"].(map[string]any)
		method, _ := properties["method"].(map[string]any)
		if word, ok := method["const"].(string); ok {
			o.byMethod[word] = name
		}
	}
	if err := o.compiler.AddResource(o.url, document); err != nil {
		t.Fatal(err)
	}
	o.url += "#/" + section + "/"
	return o
}

// check validates the frame as a message, and its result or params against their type.
func (o *officialSchema) check(out *refserver.Out, frame []byte) error {
	if out.Kind == refserver.OutBatch || out.Kind == refserver.OutError && !out.ID.IsPresent() {
		frame = bytes.ReplaceAll(frame, []byte(`"id":null,"error"`), []byte(`"id":0,"error"`)) // JSON-RPC requires null, which the schema does not permit
	}
	message, err := jsonschema.UnmarshalJSON(bytes.NewReader(frame))
	if err != nil {
		return err
	}
	if err := o.validate("JSONRPCMessage", message); err != nil {
		return err
	}
	switch out.Kind {
	case refserver.OutResult:
		result := message.(map[string]any)["result"]
		return o.validate(resultType(out.Method, result), result)
	case refserver.OutRequest, refserver.OutNotification:
		return o.validate(o.byMethod[out.Method], message)
	default:
		return nil
	}
}

func (o *officialSchema) validate(name string, value any) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.types[name] {
		return fmt.Errorf("the schema has no type %q", name)
	}
	schema, err := o.compiler.Compile(o.url + name)
	if err != nil {
		return err
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// TestMessagesFitTheOfficialSchemas plays every script, walks all lists, and
// validates each message of the server against the official schema.
func TestMessagesFitTheOfficialSchemas(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.script")
	for _, revision := range spec.HandshakeRevisions() {
		t.Run(string(revision), func(t *testing.T) {
			t.Parallel()
			o := loadOfficial(t, revision)
			var mu sync.Mutex
			seen := map[string]int{}
			record := func(out *refserver.Out) {
				mu.Lock()
				defer mu.Unlock()
				seen[out.Method]++
				if out.Revision != revision {
					return // the message belongs to another revision, or none is negotiated yet
				}
				if err := o.check(out, out.Frames[0]); err != nil {
					t.Errorf("%v\nin %s", err, out.Frames[0])
				}
			}
			options := refserver.Options{RequestTimeout: scriptTimeout, Seams: refserver.Seams{Outgoing: record}}
			for _, file := range files {
				revisions, lines := readScript(t, file)
				if strings.Contains(" "+strings.Join(revisions, " ")+" ", " "+string(revision)+" ") {
					startStdio(t, options).play(lines, string(revision))
				}
			}
			startStdio(t, options).useEverything(string(revision))
			methods := slices.Collect(maps.Keys(resultTypes))
			if revision == spec.V20251125 {
				methods = slices.AppendSeq(append(methods, spec.MethodTasksStatus), maps.Keys(taskResultTypes))
			}
			for _, method := range methods {
				if seen[method] == 0 {
					t.Errorf("the server sent no message of %s", method)
				}
			}
		})
	}
}

// useEverything walks all lists and uses each listed tool, resource and prompt once.
func (r *stdioServer) useEverything(revision string) {
	r.initialize(revision, `{}`)
	for _, tool := range r.listAll(spec.MethodToolsList, "tools") {
		for _, member := range []string{"inputSchema", "outputSchema"} {
			if schema, ok := tool[member]; ok {
				compiler := jsonschema.NewCompiler()
				if err := errors.Join(compiler.AddResource("mem:///schema", schema), compileError(compiler)); err != nil {
					r.t.Errorf("%s of %s: %v", member, tool["name"], err)
				}
			}
		}
		r.request(spec.MethodToolsCall, map[string]any{"name": tool["name"], "arguments": map[string]any{}})
	}
	for _, resource := range r.listAll(spec.MethodResourcesList, "resources") {
		r.request(spec.MethodResourcesRead, map[string]any{"uri": resource["uri"]})
	}
	for _, prompt := range r.listAll(spec.MethodPromptsList, "prompts") {
		r.request(spec.MethodPromptsGet, map[string]any{"name": prompt["name"], "arguments": map[string]any{"name": "Ada"}})
	}
	r.listAll(spec.MethodResourcesTemplates, "resourceTemplates")
}

func compileError(c *jsonschema.Compiler) error {
	_, err := c.Compile("mem:///schema")
	return err
}

func (r *stdioServer) listAll(method, member string) []map[string]any {
	r.t.Helper()
	var all []map[string]any
	for params := map[string]any{}; ; {
		var page struct {
			Result map[string]json.RawMessage
		}
		if err := json.Unmarshal([]byte(r.request(method, params)), &page); err != nil {
			r.t.Fatal(err)
		}
		var items []map[string]any
		if err := json.Unmarshal(page.Result[member], &items); err != nil {
			r.t.Fatalf("%s: %v", method, err)
		}
		all = append(all, items...)
		cursor, more := page.Result["nextCursor"]
		if !more {
			if len(all) == len(items) {
				r.t.Errorf("%s has a single page, so its cursor is untested", method)
			}
			return all
		}
		params["cursor"] = cursor
	}
}

// TestStatelessMessagesFitTheSchemas plays the scripts of the stateless era over both
// transports and uses everything that the server lists. It validates each message against
// the project's schema, and against the official schema if that is available.
func TestStatelessMessagesFitTheSchemas(t *testing.T) {
	files, _ := filepath.Glob("testdata/stateless-*.script")
	var official *officialSchema
	if os.Getenv("MCP_SPEC_SCHEMAS") != "" {
		official = loadOfficial(t, spec.V20260728)
	}
	for _, over := range []spec.Transport{spec.Stdio, spec.StreamableHTTP} {
		t.Run(string(over), func(t *testing.T) {
			var mu sync.Mutex
			seen := map[string]int{}
			record := func(out *refserver.Out) {
				mu.Lock()
				defer mu.Unlock()
				if out.Revision != spec.V20260728 {
					return // a message of a handshake session in the same script
				}
				frame := wire.Parse(out.Frames[0])
				if len(frame.Problems) > 0 || len(frame.Messages) != 1 || out.Kind == refserver.OutRequest {
					t.Errorf("the server sent %s", out.Frames[0])
					return
				}
				m := &frame.Messages[0]
				if m.Has("result") || out.Kind == refserver.OutNotification {
					seen[out.Method]++
				}
				for _, v := range schema.For(spec.V20260728).CheckMessage(m, out.Method) {
					t.Errorf("%s in %s", v, out.Frames[0])
				}
				if official != nil {
					if err := official.check(out, out.Frames[0]); err != nil {
						t.Errorf("%v\nin %s", err, out.Frames[0])
					}
				}
			}
			options := refserver.Options{Seams: refserver.Seams{Outgoing: record}}
			for _, file := range files {
				_, lines := readScript(t, file)
				switch {
				case over == spec.Stdio:
					startStdio(t, options).play(lines, stateless)
				case !strings.HasSuffix(file, "-stdio.script"):
					playScript(t, startHTTP(t, options), lines, stateless)
				}
			}
			options.Fixtures = true
			if over == spec.Stdio {
				useEverythingStateless(t, startStdio(t, options))
				r := startStdio(t, options)
				r.send(listenBody("1"))
				r.nextLine()
				r.in.Close()
				r.remainingLines()
			} else {
				useEverythingStateless(t, startHTTP(t, options))
			}
			mu.Lock()
			defer mu.Unlock()
			methods := []string{
				spec.MethodDiscover, spec.MethodToolsList, spec.MethodToolsCall, spec.MethodResourcesList, spec.MethodResourcesTemplates,
				spec.MethodResourcesRead, spec.MethodPromptsList, spec.MethodPromptsGet, spec.MethodComplete, spec.MethodAcknowledged,
				spec.MethodToolsChanged, spec.MethodResourcesChanged, spec.MethodPromptsChanged, spec.MethodResourcesUpdated,
				spec.MethodProgress, spec.MethodMessage,
			}
			if over == spec.Stdio {
				methods = append(methods, spec.MethodListen, spec.MethodCancelled)
			}
			for _, method := range methods {
				if seen[method] == 0 {
					t.Errorf("the server sent no message of %s", method)
				}
			}
		})
	}
}

// useEverythingStateless walks all lists and uses each listed tool, resource and
// prompt once, as a client that declares all capabilities.
func useEverythingStateless(t *testing.T, c connection) {
	t.Helper()
	meta := metaMember(stateless, `{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}}`)
	request := func(method, params string) map[string]json.RawMessage {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"ask","method":%q,"params":{%s%s}}`, method, params, meta))
		var m struct{ Result map[string]json.RawMessage }
		for line := ""; !strings.Contains(line, `"id":"ask"`); {
			line = c.nextLine()
			m.Result = nil
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
		}
		return m.Result
	}
	walk := func(method, member, key string, use func(name string)) {
		for params := ""; ; {
			page := request(method, params)
			var items []map[string]any
			if err := json.Unmarshal(page[member], &items); err != nil {
				t.Fatalf("%s: %v", method, err)
			}
			for _, item := range items {
				use(item[key].(string))
			}
			cursor, more := page["nextCursor"]
			if !more {
				return
			}
			params = fmt.Sprintf(`"cursor":%s,`, cursor)
		}
	}
	walk(spec.MethodToolsList, "tools", "name", func(name string) {
		request(spec.MethodToolsCall, fmt.Sprintf(`"name":%q,"arguments":{},`, name))
	})
	walk(spec.MethodResourcesList, "resources", "uri", func(uri string) {
		request(spec.MethodResourcesRead, fmt.Sprintf(`"uri":%q,`, uri))
	})
	walk(spec.MethodPromptsList, "prompts", "name", func(name string) {
		request(spec.MethodPromptsGet, fmt.Sprintf(`"name":%q,"arguments":{"name":"Ada"},`, name))
	})
	walk(spec.MethodResourcesTemplates, "resourceTemplates", "name", func(string) {})
}

// request sends a request and returns the response. It skips notifications.
func (r *stdioServer) request(method string, params any) string {
	r.t.Helper()
	text, err := json.Marshal(params)
	if err != nil {
		r.t.Fatal(err)
	}
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"ask","method":%q,"params":%s}`, method, text))
	for {
		if line := r.nextLine(); strings.Contains(line, `"id":"ask"`) {
			return line
		}
	}
}

// TestSchemaCheckRejects checks that officialSchema.check rejects invalid messages.
func TestSchemaCheckRejects(t *testing.T) {
	o := loadOfficial(t, spec.V20250618)
	for _, c := range []struct {
		out   refserver.Out
		frame string
	}{
		{refserver.Out{Kind: refserver.OutResult, Method: spec.MethodToolsCall}, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{refserver.Out{Kind: refserver.OutNotification, Method: spec.MethodProgress}, `{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`},
		{refserver.Out{Kind: refserver.OutResult, Method: spec.MethodTasksGet}, `{"jsonrpc":"2.0","id":1,"result":{"task":{}}}`},
		{refserver.Out{Kind: refserver.OutNotification, Method: "notifications/none"}, `{"jsonrpc":"2.0","method":"notifications/none"}`},
		{refserver.Out{Kind: refserver.OutBatch}, `[{"jsonrpc":"2.0","id":1,"result":{}}]`},
	} {
		if o.check(&c.out, []byte(c.frame)) == nil {
			t.Errorf("%s was accepted", c.frame)
		}
	}
}
