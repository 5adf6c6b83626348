package suite

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

func TestListChange(t *testing.T) {
	const (
		first  = `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"b"}],"nextCursor":"2"}}`
		second = `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"c"}]}}`
		other  = `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"d"}]}}`
		empty  = `{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}`
	)
	for _, c := range []struct {
		name          string
		earlier, walk []string
		changed       bool
	}{
		{"the same list", []string{first, second}, []string{first, second}, false},
		{"another item", []string{first, second}, []string{first, other}, true},
		{"no items any more", []string{first, second}, []string{empty}, true},
		{"a walk that stopped at its limit of pages", []string{first, second}, []string{first}, false},
		{"no complete walk before", []string{first}, []string{first, second}, false},
		{"no walk at all", []string{first, second}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			record := transcript.New()
			add := func(lines []string) (from int) {
				from = record.Len()
				for _, line := range lines {
					record.Add(transcript.Event{Kind: transcript.Received, Raw: []byte(line)})
				}
				return from
			}
			add(c.earlier)
			earlier := record.From(0)
			since, changed := listChange(earlier, record.From(add(c.walk)), "tools")
			if changed != c.changed || changed && since != len(earlier)-1 {
				t.Errorf("changed is %t since %d, want %t since %d", changed, since, c.changed, len(earlier)-1)
			}
		})
	}
}
