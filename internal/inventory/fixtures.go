package inventory

import "slices"

// A Fixture is a tool call that is known to play a role.
//
// The placeholders {milliseconds}, {seconds}, {steps} and {count} in its arguments stand for the
// duration of the call (the first two), its number of progress steps, and a number that differs
// from call to call. A string that consists of one placeholder becomes a JSON number; inside a
// longer string, digits replace the placeholder.
type Fixture struct {
	Role      Role
	Tool      string
	Arguments map[string]any
	// Resource is the URI of the resource that the call changes, for ChangesResource.
	Resource string
	// Levels are the levels of the log messages that each call sends, if known.
	Levels []string
	// Exact reports whether the result depends only on the arguments.
	Exact bool
	// Where is the place in the configuration: file:line:column.
	Where string
}

type arguments = map[string]any

var everyLevel = []string{"emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"}

// fixtures are the calls whose roles are known from the names of their tools: those of the
// reference server, of server-everything (its older and newer versions), and of servers made for
// the official conformance suite. For each role, the first one that a server offers is used.
var fixtures = slices.Concat(referenceFixtures(), everythingFixtures(), officialFixtures())

func referenceFixtures() []Fixture {
	return []Fixture{
		{Role: Slow, Tool: "slow", Arguments: arguments{"durationMs": "{milliseconds}", "steps": "{steps}"}, Exact: true},
		{Role: Progress, Tool: "slow", Arguments: arguments{"durationMs": 60, "steps": 3}, Exact: true},
		{Role: Logging, Tool: "log", Levels: everyLevel},
		{Role: AsksRoots, Tool: "ask-roots"},
		{Role: AsksSampling, Tool: "ask-sampling", Arguments: arguments{"prompt": "Say a word."}},
		{Role: AsksElicitation, Tool: "ask-elicitation"},
		{Role: ChangesResource, Tool: "update-resource", Arguments: arguments{"text": "changed {count}"}, Resource: "demo://note"},
		{Role: ChangesTools, Tool: "trigger-list-changed", Arguments: arguments{"list": "tools"}},
		{Role: ChangesResources, Tool: "trigger-list-changed", Arguments: arguments{"list": "resources"}},
		{Role: ChangesPrompts, Tool: "trigger-list-changed", Arguments: arguments{"list": "prompts"}},
		{Role: Fails, Tool: "fail"},
		{Role: Structured, Tool: "distance", Arguments: arguments{"from": []any{0, 0}, "to": []any{3, 4}}},
		{Role: Structured, Tool: "add", Arguments: arguments{"a": 1, "b": 2}},
		{Role: GivesText, Tool: "content"},
		{Role: GivesImage, Tool: "content"},
		{Role: GivesAudio, Tool: "content"},
		{Role: GivesResource, Tool: "content"},
		{Role: GivesLink, Tool: "content"},
	}
}

// everythingFixtures returns the calls of server-everything. Newer versions use names with dashes.
// The tool that requests roots is left out, because it does so only once per session.
func everythingFixtures() []Fixture {
	seconds := arguments{"duration": "{seconds}", "steps": "{steps}"}
	soon := arguments{"duration": 0.06, "steps": 3}
	prompt := arguments{"prompt": "Say a word.", "maxTokens": 10}
	return []Fixture{
		{Role: Slow, Tool: "trigger-long-running-operation", Arguments: seconds, Exact: true},
		{Role: Slow, Tool: "longRunningOperation", Arguments: seconds, Exact: true},
		{Role: Progress, Tool: "trigger-long-running-operation", Arguments: soon, Exact: true},
		{Role: Progress, Tool: "longRunningOperation", Arguments: soon, Exact: true},
		{Role: AsksSampling, Tool: "trigger-sampling-request", Arguments: prompt},
		{Role: AsksSampling, Tool: "sampleLLM", Arguments: prompt},
		{Role: AsksElicitation, Tool: "trigger-elicitation-request"},
		{Role: AsksElicitation, Tool: "startElicitation"},
		{Role: Structured, Tool: "get-structured-content", Arguments: arguments{"location": "Chicago"}},
		{Role: Structured, Tool: "structuredContent", Arguments: arguments{"location": "here"}},
		{Role: GivesText, Tool: "echo", Arguments: arguments{"message": "text"}},
		{Role: GivesImage, Tool: "get-tiny-image"},
		{Role: GivesImage, Tool: "getTinyImage"},
		{Role: GivesResource, Tool: "get-resource-reference", Arguments: arguments{"resourceType": "Text", "resourceId": 1}},
		{Role: GivesResource, Tool: "getResourceReference", Arguments: arguments{"resourceId": 1}},
		{Role: GivesLink, Tool: "get-resource-links", Arguments: arguments{"count": 2}},
		{Role: GivesLink, Tool: "getResourceLinks", Arguments: arguments{"count": 2}},
	}
}

// officialFixtures returns the calls of servers made for the official suite. The tool that reports
// progress takes about a tenth of a second, so it also counts as slow.
func officialFixtures() []Fixture {
	return []Fixture{
		{Role: Slow, Tool: "test_tool_with_progress"},
		{Role: Progress, Tool: "test_tool_with_progress"},
		{Role: Logging, Tool: "test_tool_with_logging", Levels: []string{"info"}},
		{Role: AsksSampling, Tool: "test_sampling", Arguments: arguments{"prompt": "Say a word."}},
		{Role: AsksElicitation, Tool: "test_elicitation", Arguments: arguments{"message": "Who are you?"}},
		{Role: AsksElicitation, Tool: "test_elicitation_sep1034_defaults"},
		{Role: AsksElicitation, Tool: "test_elicitation_sep1330_enums"},
		{Role: ChangesTools, Tool: "test_trigger_tool_change"},
		{Role: ChangesPrompts, Tool: "test_trigger_prompt_change"},
		{Role: Fails, Tool: "test_error_handling"},
		{Role: GivesText, Tool: "test_simple_text"},
		{Role: GivesImage, Tool: "test_image_content"},
		{Role: GivesAudio, Tool: "test_audio_content"},
		{Role: GivesResource, Tool: "test_embedded_resource"},
		{Role: GivesText, Tool: "test_multiple_content_types"},
		{Role: GivesImage, Tool: "test_multiple_content_types"},
		{Role: GivesResource, Tool: "test_multiple_content_types"},
	}
}

// officialTools are the tools that the official suite calls by name in the handshake revisions, and
// two tools that it calls only in 2026-07-28. Of the listed tools, only those two ask the client
// for its roots. When they are called in the handshake revisions, servers built with SDKs send
// roots/list, too.
var officialTools = []string{
	"test_simple_text", "test_image_content", "test_audio_content", "test_embedded_resource", "test_multiple_content_types",
	"test_tool_with_logging", "test_tool_with_progress", "test_error_handling", "test_reconnection",
	"test_sampling", "test_elicitation", "test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums",
	"json_schema_2020_12_tool", "test_trigger_tool_change", "test_trigger_prompt_change",
	"test_input_required_result_list_roots", "test_input_required_result_multiple_inputs",
}

// officialEnough is how many of the officialTools a server must offer to count as made for the
// official suite.
const officialEnough = 3

// ordinaryWords are tool names that do not identify a tool, because they are ordinary words. For
// example, a tool called log may show the log of a repository.
var ordinaryWords = []string{"log", "fail", "content", "add", "distance"}

// ordinaryEnough is how many tools named by ordinaryWords a server must offer
// for them to count as known.
const ordinaryEnough = 3

// knownArguments are good arguments of tools for which the schema would yield none, or worse ones.
var knownArguments = map[string]map[string]any{
	"json_schema_2020_12_tool": {"name": "Ada", "contactMethod": "email", "email": "ada@example.com"},
}

// knownValues are good values for the arguments of prompts, by the prompt's name.
var knownValues = map[string]map[string]any{
	"test_prompt_with_arguments":         {"arg1": "one", "arg2": "two"},
	"test_prompt_with_embedded_resource": {"resourceUri": "test://static-text"},
	"resource-prompt":                    {"resourceType": "Text", "resourceId": "1"},
	"resource_prompt":                    {"resourceId": "1"},
	"completable-prompt":                 {"department": "Engineering", "name": "Alice"},
}

// officialPrompts and officialResources are the prompts and resources that the official suite uses
// by name. officialExpansions are the values that it uses for the variables of URI templates, by
// template.
var (
	officialPrompts = []string{
		"test_simple_prompt", "test_prompt_with_arguments", "test_prompt_with_embedded_resource", "test_prompt_with_image",
	}
	officialResources  = []string{"test://static-text", "test://static-binary", "test://watched-resource"}
	officialExpansions = map[string]map[string]string{"test://template/{id}/data": {"id": "123"}}
)

// PromisedPrompts returns the listed prompts for which the author states valid values, in the
// configuration or by making the server for the official suite.
func (v *Inventory) PromisedPrompts() []Prompt {
	var out []Prompt
	for _, p := range v.PromptEntries {
		_, own := v.config.Prompts[p.Name]
		if own || v.isForOfficialSuite() && slices.Contains(officialPrompts, p.Name) {
			out = append(out, p)
		}
	}
	return out
}

// PromisedResources returns the listed resources that the official suite uses, if the server is
// made for it. Such a server is expected to serve them.
func (v *Inventory) PromisedResources() []string {
	if !v.isForOfficialSuite() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.Resources), func(uri string) bool { return !slices.Contains(officialResources, uri) })
}
