package ruleset_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/cputime"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// session is a conversation over stdio that grows.
type session struct {
	record *transcript.Transcript
	id     int
}

func newSession() *session {
	s := &session{record: transcript.NewWithin(nil, transcript.Limits{})}
	s.do(spec.MethodInitialize, `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`,
		`{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"},"capabilities":{"tools":{"listChanged":true},"resources":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}}`)
	s.say(transcript.Sent, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

func (s *session) say(kind transcript.Kind, frame string) {
	s.record.Add(transcript.Event{Kind: kind, Raw: []byte(frame)})
}

// ask sends a request.
func (s *session) ask(method, params string) {
	s.id++
	s.say(transcript.Sent, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.id, method, params))
}

// do sends a request, and responds with the result.
func (s *session) do(method, params, result string) {
	s.ask(method, params)
	s.say(transcript.Received, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, s.id, result))
}

const taskMembers = `"createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:30:00Z","ttl":60000`

// TestJudgingIsLinear checks that the time to judge a conversation grows with its length, and not
// with the square of it.
func TestJudgingIsLinear(t *testing.T) {
	skip.Slowest(t)
	for _, c := range []struct {
		name string
		grow func(s *session, n int)
	}{
		{"pages", func(s *session, n int) {
			for i := range n {
				s.do(spec.MethodToolsList, fmt.Sprintf(`{"cursor":"%d"}`, i), fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}],"nextCursor":"%d"}`, i, i+1))
			}
		}},
		{"pages without items", func(s *session, n int) {
			for i := range n {
				s.do(spec.MethodToolsList, fmt.Sprintf(`{"cursor":"%d"}`, i), fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, i+1))
			}
		}},
		{"reads of unknown resources", func(s *session, n int) {
			var all []string
			for i := range n {
				all = append(all, fmt.Sprintf(`{"uri":"demo://%d","name":"r"}`, i))
			}
			s.do(spec.MethodResourcesList, "{}", `{"resources":[`+strings.Join(all, ",")+`]}`)
			s.do(spec.MethodResourcesTemplates, "{}", `{"resourceTemplates":[]}`)
			for i := range n {
				s.do(spec.MethodResourcesRead, fmt.Sprintf(`{"uri":"demo://mcp-conform-no-such-resource/%d"}`, i), `{"contents":[]}`)
			}
		}},
		{"tasks", func(s *session, n int) {
			for i := range n {
				s.do(spec.MethodToolsCall, fmt.Sprintf(`{"name":"t","arguments":{},"task":{"ttl":60000},"_meta":{"progressToken":%d}}`, i), fmt.Sprintf(`{"task":{"taskId":"k%d","status":"working",%s}}`, i, taskMembers))
				s.say(transcript.Received, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`, i))
				s.do(spec.MethodTasksGet, fmt.Sprintf(`{"taskId":"k%d"}`, i), fmt.Sprintf(`{"taskId":"k%d","status":"completed",%s}`, i, taskMembers))
				s.do(spec.MethodTasksResult, fmt.Sprintf(`{"taskId":"k%d"}`, i), fmt.Sprintf(`{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"k%d"}}}`, i))
			}
		}},
		{"cancelled calls", func(s *session, n int) {
			for range n {
				s.ask(spec.MethodToolsCall, `{"name":"t","arguments":{}}`)
				s.say(transcript.Sent, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, s.id))
				s.do(spec.MethodPing, "{}", "{}")
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			const small, factor = 400, 10
			all := ruleset.All()
			// took returns the CPU time of so many runs over a conversation. A single run
			// over a short one is too short to measure: some kernels count CPU time in
			// ticks of milliseconds.
			took := func(n, runs int) time.Duration {
				s := newSession()
				s.do(spec.MethodToolsList, "{}", `{"tools":[{"name":"t","inputSchema":{"type":"object"}}],"nextCursor":"0"}`)
				c.grow(s, n)
				events, least := s.record.From(0), time.Hour
				for range 3 {
					before := cputime.Used()
					for range runs {
						rules.Judge(all, events, spec.V20251125, spec.Stdio)
					}
					least = min(least, cputime.Used()-before)
				}
				return least
			}
			took(small, 1) // what is compiled once
			short, long := took(small, factor), took(factor*small, 1)
			for i := 0; i < 6 && long > 4*short; i++ { // other programs delay a measurement, and never speed it up
				short, long = min(short, took(small, factor)), min(long, took(factor*small, 1))
			}
			if long > 4*short {
				t.Errorf("judging takes %v for %d conversations, and %v for one that is %d times as long", short, factor, long, factor)
			}
		})
	}
}
