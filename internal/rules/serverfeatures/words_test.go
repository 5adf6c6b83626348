package serverfeatures

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/uri"
)

// TestDeniesExistence has messages of servers about an unknown tool, and messages of tools about other
// things that were not found.
func TestDeniesExistence(t *testing.T) {
	for text, want := range map[string]bool{
		"Unknown tool: look":                        true,
		`unknown tool "look"`:                       true,
		"Tool look not found":                       true,
		"MCP error -32602: Tool look not found":     true,
		"Tool not found: look":                      true,
		"tool not found":                            true,
		"Tool 'look' does not exist":                true,
		"Invalid params: there is no such tool":     true,
		"No such tool":                              true,
		"look: unknown":                             true,
		"Tool execution failed: file not found":     false,
		"Tool look: file not found":                 false,
		"The record was not found by the tool look": false,
		"look failed: unknown tool version":         false,
		"Not found":                                 false,
		"Method not found":                          false,
		"Error executing tool look: no such file":   false,
		"": false,
		"The tool does not exist for this account's record": false,
	} {
		if got := deniesExistence("tool", "look", text); got != want {
			t.Errorf("%q denies that there is a tool: %v", text, got)
		}
	}
}

// Names match in any case, and are not interpreted as patterns.
func TestDeniesExistenceOfOddNames(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"a.b*", "Prompt A.B* not found", true},
		{"a.b*", "Prompt axbb not found", false},
		{"\u017ftra\u00dfe", "STRA\u00dfE is unknown", true},
		{"\u212aelvin", "prompt not found: kelvin", true},
		{"", "'' not found", true},
		{"", "There is nothing of the kind", false},
	} {
		if got := deniesExistence("prompt", c.name, c.text); got != c.want {
			t.Errorf("%q denies that there is a prompt %q: %v", c.text, c.name, got)
		}
	}
}

func TestPlainlyWrong(t *testing.T) {
	const input = `{"type":"object","required":["n"],"properties":{
		"n":{"type":"integer"},"s":{"type":"string"},"e":{"type":"string","enum":["Left","right"]},"m":{"enum":["a",1]},
		"b":{"type":"boolean"},"a":{"type":"array"},"o":{"type":"object"},"x":{"type":["string","null"]}}}`
	for arguments, want := range map[string]bool{
		`{}`:                      true,
		`{"n":1}`:                 false,
		`{"n":"1"}`:               false,
		`{"n":" 1 "}`:             false,
		`{"n":""}`:                false,
		`{"n":null}`:              false,
		`{"n":true}`:              false,
		`{"n":"one"}`:             true,
		`{"n":[1]}`:               true,
		`{"n":1,"s":5}`:           false,
		`{"n":1,"s":{}}`:          true,
		`{"n":1,"e":"LEFT"}`:      false,
		`{"n":1,"e":"up"}`:        true,
		`{"n":1,"e":""}`:          false,
		`{"n":1,"m":"z"}`:         false,
		`{"n":1,"b":"yes"}`:       false,
		`{"n":1,"b":{}}`:          true,
		`{"n":1,"a":"a,b"}`:       false,
		`{"n":1,"a":5}`:           true,
		`{"n":1,"o":"{}"}`:        false,
		`{"n":1,"o":false}`:       true,
		`{"n":1,"x":{}}`:          false,
		`{"n":1,"more":{"a":[]}}`: false,
	} {
		if got := isPlainlyWrong(jsontext.Value(input), jsontext.Value(arguments)); got != want {
			t.Errorf("%s is plainly wrong: %v", arguments, got)
		}
	}
	if isPlainlyWrong(jsontext.Value(`{"required":["a"],"properties":{"a":{"default":1}}}`), jsontext.Value(`{}`)) {
		t.Error("what has a default may be left out")
	}
}

func TestVariables(t *testing.T) {
	for template, want := range map[string]int{"demo://a": 0, "demo://{a}": 1, "demo://{a,b*}{?c:3}": 3, "demo://{": 0, "{+a}{#b}": 2, "{}": 0} {
		if got := uri.Parse(template).Variables; len(got) != want {
			t.Errorf("%s has the variables %v", template, got)
		}
	}
}
