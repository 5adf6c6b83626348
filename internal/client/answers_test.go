package client

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func TestAnswersSet(t *testing.T) {
	a := NewAnswers(map[string]any{"roots": map[string]any{}})
	request := func(method string) *wire.Message {
		return &wire.Parse([]byte(`{"jsonrpc":"2.0","id":7,"method":"` + method + `"}`)).Messages[0]
	}
	standard := `{"jsonrpc":"2.0","id":7,"result":{"roots":[{"name":"mcp-conform","uri":"file:///mcp-conform/root"}]}}`
	for _, step := range []struct {
		name   string
		change func()
		want   string
	}{
		{"as declared", func() {}, standard},
		{"a result", func() {
			a.Set("roots/list", func(m *wire.Message) []byte { return wire.NewResult(m.ID, map[string]any{"roots": []any{}}) })
		}, `{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}`},
		{"an error", func() {
			a.Set("roots/list", func(m *wire.Message) []byte { return wire.NewError(m.ID, -1, "no", nil) })
		}, `{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}`},
		{"nothing", func() { a.Set("roots/list", func(*wire.Message) []byte { return nil }) }, ``},
		{"as declared again", func() { a.Set("roots/list", nil) }, standard},
	} {
		step.change()
		if diff := cmp.Diff(step.want, string(a.Answer(request("roots/list")))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
	if got := string(a.Answer(request("ping"))); got != `{"jsonrpc":"2.0","id":7,"result":{}}` {
		t.Errorf("ping is answered with %s", got)
	}
}
