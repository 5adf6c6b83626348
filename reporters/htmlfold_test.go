package reporters

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestFoldAlike checks that messages are folded if only their ids differ. "x"
// marks the offending one.
func TestFoldAlike(t *testing.T) {
	const ping, pong, other = `> {"id":1,"method":"ping"}`, `< {"id":1,"result":{}}`, `< {"id":1,"result":{"a":1}}`
	for _, c := range []struct {
		name       string
		give, want []string
	}{
		{"nothing", nil, nil},
		{"one pair", []string{ping, pong}, []string{ping, pong}},
		{"equal pairs", []string{ping, pong, `> {"id":"b","method":"ping"}`, `< {"id":"b","result":{}}`, ping, pong, other}, []string{ping, pong, "the same pair of messages 2 times more", other}},
		{"a pair begins with the client", []string{pong, ping, pong, ping, pong}, []string{pong, ping, pong, "the same pair of messages once more"}},
		{"equal messages", []string{pong, pong, pong}, []string{pong, "the same message 2 times more"}},
		{"another result", []string{ping, pong, ping, other}, []string{ping, pong, ping, other}},
		{"what offends", []string{ping, pong, ping, "x" + pong}, []string{ping, pong, ping, "x" + pong}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var events []pageEvent
			for _, line := range c.give {
				text := strings.TrimPrefix(line, "x")
				e := newPageEvent(&verdict.Evidence{Direction: text[:1], Text: text[2:], Offending: text != line}, false)
				e.Label = line
				events = append(events, e)
			}
			var got []string
			for _, e := range foldRepetitions(events) {
				got = append(got, e.Label+e.LikeText)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
