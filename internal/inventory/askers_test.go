package inventory

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestAskers(t *testing.T) {
	tools := []Tool{}
	for _, x := range [][2]string{
		{"sampleLLM", ""}, {"test_sampling", ""}, {"trigger-sampling-request", ""}, {"summarize", "Asks the client's LLM"}, {"test_elicitation", ""},
		{"startElicitation", ""}, {"confirm", "Asks the user for a name"}, {"connect", "Sends the user to a page"}, {"users", "Lists the users"}, {"get-roots-list", ""}, {"where", "Lists the roots"}, {"add", "Adds the square root"}, {"echo", ""},
	} {
		tools = append(tools, Tool{Name: x[0], ReadOnly: true, Raw: jsontext.Value(`{"description":"` + x[1] + `"}`)})
	}
	tools = append(tools, Tool{Name: "sampling-that-writes", Raw: jsontext.Value(`{}`)})
	v := &Inventory{Tools: tools, config: Config{Policy: CallSafe}}
	for topic, want := range map[Role][]string{
		AsksSampling:    {"sampleLLM", "test_sampling", "trigger-sampling-request", "summarize"},
		AsksElicitation: {"test_elicitation", "startElicitation", "confirm", "connect"},
		AsksRoots:       {"get-roots-list", "where", "add"}, // the last is a harmless false match
	} {
		var got []string
		for _, tool := range v.AskingTools(topic) {
			got = append(got, tool.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", topic, diff)
		}
	}
}
