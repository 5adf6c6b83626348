package config

import (
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// A Kind is the kind of value that a key takes.
type Kind int

// The kinds of values.
const (
	Text     Kind = iota
	Choice        // one of Values
	Duration      // such as 10s
	Number        // an integer of at least 1
	Switch        // true or false
	Texts         // a list of strings, or a single string
	List          // a list of strings; only in an entry of a list of servers
	Scalars       // a mapping from any names to strings, numbers, true, false or no value, all kept as written
	Object        // a mapping from any names to any values
	Mapping       // a mapping with Keys
	Named         // a mapping from any names to values as Of describes them
	Several       // a list of values as Of describes them, or a single one
)

// A Key is one key of the file, or of an entry of a list of servers (see CheckEntry). The reader, the
// JSON Schema and the documentation page all use the table of keys.
type Key struct {
	Name  string
	About string // one sentence
	Kind  Kind
	// Values are the permitted values of a Choice, or the values of Texts that
	// have a special meaning.
	Values []string
	Keys   []Key // of a Mapping
	Of     *Key  // the values of a Named, or the elements of a Several
	Must   bool  // the key is required
	// Flag and Variable override the key. Both may be "".
	Flag, Variable string
	Path           bool // it is a path, relative to the folder of the file
	Example        string
}

// Keys returns the whole table of keys, as one outermost mapping.
func Keys() Key {
	return Key{Kind: Mapping, About: "What mcp-conform needs to know about a server, and how to judge it.", Keys: []Key{
		targetKey(),
		{
			Name: "revisions", Kind: Texts, Flag: "revision", Variable: "MCP_CONFORM_REVISIONS", Example: "[2025-06-18, 2025-11-25]",
			About: "The revisions of the protocol to judge. Default: all that the server speaks.",
		},
		{
			Name: "profiles", Kind: Texts, Flag: "profile", Variable: "MCP_CONFORM_PROFILES", Example: "[core@1, tools@1]",
			About: "The profiles whose requirements are judged. Default: all requirements.",
		},
		{Name: "timeout", Kind: Duration, Flag: "timeout", Variable: "MCP_CONFORM_TIMEOUT", Example: "10s", About: "How long to wait for the response to a request."},
		{Name: "start-timeout", Kind: Duration, Flag: "start-timeout", Variable: "MCP_CONFORM_START_TIMEOUT", Example: "2m", About: "How long to wait for the first response of a fresh server, including its start."},
		{Name: "max-time", Kind: Duration, Flag: "max-time", Variable: "MCP_CONFORM_MAX_TIME", Example: "10m", About: "How long the whole run may take."},
		{Name: "jobs", Kind: Number, Flag: "jobs", Variable: "MCP_CONFORM_JOBS", Example: "2", About: "How many instances of the server work at the same time. Default: the number of cores."},
		{Name: "fail-on", Kind: Choice, Values: []string{"must", "should"}, Flag: "fail-on", Variable: "MCP_CONFORM_FAIL_ON", Example: "must", About: "What makes the exit code 1: broken requirements (must), or also warnings (should)."},
		{Name: "baseline", Kind: Text, Path: true, Flag: "baseline", Variable: "MCP_CONFORM_BASELINE", Example: "mcp-conform-baseline.yaml", About: "The file of known findings, which do not fail a run."},
		{Name: "accept-sdk-findings", Kind: Switch, Flag: "accept-sdk-findings", Example: "true", About: "Findings that the server's SDK is known to cause do not fail a run."},
		{Name: "reports", Kind: Texts, Flag: "report", Example: "[junit=junit.xml, json]", About: "The reports to write: NAME=FILE, or NAME for a file in the folder that out names. A relative FILE is relative to the current folder."},
		{Name: "out", Kind: Text, Path: true, Flag: "out", Variable: "MCP_CONFORM_OUT", Example: ".mcp-conform", About: "The folder for reports that name no file."},
		implementationKey(),
		identitiesKey(),
		toolsKey(),
		{Name: "prompts", Kind: Mapping, About: "How to get prompts.", Keys: []Key{{
			Name: "arguments", Kind: Named, Of: &Key{Kind: Scalars}, Example: "{greeting: {name: Ada}}",
			About: "For each prompt, valid values of its arguments. Default: generated values.",
		}}},
		{
			Name: "templates", Kind: Named, Of: &Key{Kind: Scalars}, Example: `{"demo://items/{number}": {number: 1}}`,
			About: "For each URI template, valid values of its variables, so that a resource of the template can be read.",
		},
		fixturesKey(),
	}}
}

func targetKey() Key {
	return Key{Name: "target", Kind: Mapping, About: "The server: a command, or a URL. Ignored if the command line names a server, unless it names the same URL.", Keys: []Key{
		{Name: "command", Kind: Texts, Example: "[node, server.js]", About: "The command that starts the server, and its arguments. A single string is split at spaces."},
		{Name: "url", Kind: Text, Example: "http://localhost:3000/mcp", About: "The URL at which the server is reached."},
		{Name: "cwd", Kind: Text, Path: true, Flag: "cwd", Example: ".", About: "The folder in which the server is started. Default: the folder of this file."},
		{Name: "env", Kind: Scalars, Flag: "env", Example: "{LOG: debug, TOKEN: }", About: "Environment variables of the server. A name without a value takes the value from the environment of mcp-conform, to keep secrets out of the file."},
		{Name: "clean-env", Kind: Switch, Flag: "clean-env", Example: "true", About: "Pass only the essential variables of mcp-conform's environment to the server."},
		{Name: "transport", Kind: Choice, Values: []string{"auto", "http", "sse"}, Flag: "transport", Example: "http", About: "How to reach the URL: http (Streamable HTTP), sse (HTTP+SSE), or auto, which finds out."},
		{Name: "headers", Kind: Scalars, Flag: "header", Example: "{X-Tenant: demo}", About: "Headers to send with every HTTP request."},
		{Name: "bearer-env", Kind: Text, Flag: "bearer-env", Example: "MY_TOKEN", About: "The variable that holds the token for Authorization: Bearer."},
		{Name: "client-id", Kind: Text, Flag: "client-id", Example: "ci", About: "The id of an OAuth client that gets tokens without a user (client credentials) from the server's authorization server."},
		{Name: "client-secret-env", Kind: Text, Flag: "client-secret-env", Example: "CLIENT_SECRET", About: "The variable that holds the secret of the client that client-id names."},
		{Name: "as", Kind: Text, Flag: "as", Example: "alice", About: "The user to judge the server as: the name of an identity below, or of a login."},
		{Name: "other-user", Kind: Text, Flag: "other-user", Example: "bob", About: "A second user, who must not get what belongs to the first."},
		{Name: "foreign-token-env", Kind: Text, Flag: "foreign-token-env", Example: "FOREIGN_TOKEN", About: "The variable that holds a token that the server's authorization server issued for another server, and that this server must refuse."},
		{Name: "upstream-env", Kind: Text, Flag: "upstream-env", Example: "API_URL", About: "The variable in which the server finds the URL of a service that it calls; mcp-conform imitates the service, and checks that the server does not send it the client's token."},
		{Name: "upstream-url", Kind: Text, Flag: "upstream-url", Example: "https://api.example.com", About: "The URL of the real service. mcp-conform then forwards the server's requests to it instead of answering them itself."},
		{Name: "through", Kind: Switch, Flag: "through", Example: "true", About: "The target is a gateway. It is judged with the reference server as its upstream. In the gateway's command, {upstream} is the URL of the reference server, and {upstream-command} is a command that starts it."},
		{Name: "upstream-listen", Kind: Text, Flag: "upstream-listen", Example: "127.0.0.1:7000", About: "The address at which the reference server listens, for a gateway whose own configuration names that address."},
		{Name: "expect-changes", Kind: Texts, Flag: "expect-change", Example: "[tools, prompts]", About: "Changes that a gateway makes on purpose. They are reported as notes, not as warnings."},
		{Name: "start", Kind: Text, Flag: "start", Example: "npm start", About: "The command that starts the server that url reaches. {port} in the command, in env and in url is replaced by a free port."},
		{Name: "ready", Kind: Duration, Flag: "ready", Example: "2m", About: "How long to wait until a started server listens."},
	}}
}

func implementationKey() Key {
	return Key{Name: "implementation", Kind: Mapping, About: "What conformance reports say about the server.", Keys: []Key{
		{Name: "organization", Kind: Text, Example: "Example Corp", About: "Who makes the server."},
		{Name: "project", Kind: Text, Example: "weather-server", About: "The name of the server."},
		{Name: "url", Kind: Text, Example: "https://example.com/weather-server", About: "The web page of the server."},
		{Name: "version", Kind: Text, Example: "v1.2.3", About: "The version of the server. Default: the version that it reports itself."},
		{Name: "contact", Kind: Texts, Example: "[mcp@example.com]", About: "Whom to ask about the report: addresses or URLs."},
	}}
}

func identitiesKey() Key {
	return Key{
		Name: "identities", Kind: Named, Example: "{alice: {bearer-env: ALICE_TOKEN}, bob: {client-id: bob, client-secret-env: BOB_SECRET}}",
		About: "Users of a protected server, by name, for target.as and target.other-user. Each has a token in a variable, or an OAuth client that gets tokens without a user.",
		Of: &Key{Kind: Mapping, Keys: []Key{
			{Name: "bearer-env", Kind: Text, Example: "ALICE_TOKEN", About: "The variable that holds the token."},
			{Name: "client-id", Kind: Text, Example: "bob", About: "The id of an OAuth client that gets tokens without a user (client credentials)."},
			{Name: "client-secret-env", Kind: Text, Example: "BOB_SECRET", About: "The variable that holds the secret of that client."},
		}},
	}
}

// policies are the values of tools.call that are not names of tools.
var policies = []string{string(inventory.CallSafe), string(inventory.CallAll), string(inventory.CallNone)}

func toolsKey() Key {
	return Key{Name: "tools", Kind: Mapping, About: "Which tools are called, and how.", Keys: []Key{
		{
			Name: "call", Kind: Texts, Values: policies, Flag: "call-tools", Variable: "MCP_CONFORM_CALL_TOOLS", Example: "[safe, create-note]",
			About: "Which tools may be called: safe (those whose readOnlyHint is true; the default), all, none, or a list with names of tools. If the list contains safe, the named tools may be called in addition to the safe ones; otherwise only the named ones. The flag and the variable take only safe, all and none.",
		},
		{Name: "never", Kind: Texts, Example: "[delete-everything]", About: "Tools that are never called, even if they are safe or tools.call is all. tools.call and fixtures must not name them."},
		{
			Name: "arguments", Kind: Named, Of: &Key{Kind: Several, Of: &Key{Kind: Object}}, Example: "{search: [{query: apples}, {query: pears, limit: 2}]}",
			About: "For each tool, the arguments of its calls, one mapping per call. Default: generated from its schema.",
		},
	}}
}

// roles holds, for each role, a description of the call that plays it.
var roles = map[inventory.Role]string{
	inventory.Slow: "A slow call, which takes up to a second, and reports progress. In its arguments, {seconds} and {milliseconds} are replaced " +
		"by the time that it should take, and {steps} by the number of progress reports.",
	inventory.Progress:         "A call that reports progress.",
	inventory.Logging:          "A call during which the server sends log messages. levels names the levels of these messages, if they are the same in each call.",
	inventory.AsksSampling:     "A call during which the server requests a completion from the client's model (" + spec.MethodSampling + "); in 2026-07-28 the call instead returns an input_required result that asks for it.",
	inventory.AsksElicitation:  "A call during which the server requests input from the client's user (" + spec.MethodElicit + "); in 2026-07-28 the call instead returns an input_required result that asks for it.",
	inventory.AsksRoots:        "A call during which the server requests the client's roots (" + spec.MethodRootsList + "); in 2026-07-28 the call instead returns an input_required result that asks for it.",
	inventory.ChangesResource:  "A call that changes a resource, and the URI of that resource. {count} in its arguments is replaced by a number that differs in each call.",
	inventory.ChangesTools:     "A call that changes the list of tools.",
	inventory.ChangesResources: "A call that changes the list of resources.",
	inventory.ChangesPrompts:   "A call that changes the list of prompts.",
	inventory.Fails:            "A call whose result has isError: true.",
	inventory.Structured:       "A call whose result has structuredContent.",
	inventory.GivesText:        "A call whose result has text.",
	inventory.GivesImage:       "A call whose result has an image.",
	inventory.GivesAudio:       "A call whose result has audio.",
	inventory.GivesResource:    "A call whose result has an embedded resource.",
	inventory.GivesLink:        "A call whose result has a resource link.",
}

// levels are the levels of log messages.
var levels = []string{"emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"}

// fixturesKey returns the key fixtures, which has a key for each role.
func fixturesKey() Key {
	k := Key{Name: "fixtures", Kind: Mapping, About: "Tool calls that make the server do something specific, such as log or report progress, so that a run can judge what it otherwise could not observe. " +
		"Tools named here may be called."}
	for _, role := range inventory.Roles() {
		one := Key{Kind: Mapping, Keys: []Key{
			{Name: "tool", Kind: Text, Must: true, About: "The tool."},
			{Name: "arguments", Kind: Object, About: "The arguments of the call."},
		}}
		example := strings.TrimPrefix(inventory.FixtureLine(role), string(role)+": ")
		switch role {
		case inventory.ChangesResource:
			one.Keys = append(one.Keys, Key{Name: "resource", Kind: Text, Must: true, About: "The URI of the resource that changes."})
		case inventory.Logging:
			one.Keys = append(one.Keys, Key{Name: "levels", Kind: Texts, Values: levels, About: "The levels of the messages that the server sends during the call, if they are always the same."})
			example = strings.TrimSuffix(example, "}") + ", levels: [info, error]}"
		}
		k.Keys = append(k.Keys, Key{Name: string(role), Kind: Several, Of: &one, About: roles[role], Example: example})
	}
	return k
}

// KeysWithVariables returns the keys that an environment variable overrides.
func KeysWithVariables() []Key {
	var out []Key
	var look func(k Key)
	look = func(k Key) {
		if k.Variable != "" {
			out = append(out, k)
		}
		for _, below := range k.Keys {
			look(below)
		}
	}
	look(Keys())
	return out
}
