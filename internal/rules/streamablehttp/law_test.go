package streamablehttp_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// server writes the transcript of a conforming server, with randomly drawn legal behavior.
type server struct {
	*rapid.T
	rec     *transcript.Transcript
	rev     spec.Revision
	session string
	ids     int
	calls   []*running
	asked   int
	pings   int
}

// running is a call in progress, or a GET stream.
type running struct {
	exchange int
	id       int
	step     int
	streams  bool
	resumes  bool   // its events have ids
	sent     []sent // the events with ids
	end      string // the line ending
}

// sent is an event with an id.
type sent struct {
	id     string
	lines  []string
	primes bool
}

// oneIn draws true with a probability of one in n.
func (s *server) oneIn(n int, what string) bool { return rapid.IntRange(1, n).Draw(s.T, what) == 1 }

func (s *server) open(method, body string, more ...transcript.Field) int {
	fields := []transcript.Field{{Name: "Host", Value: "127.0.0.1:8080"}}
	switch method {
	case "POST":
		fields = append(fields, transcript.Field{Name: "Accept", Value: "application/json, text/event-stream"}, transcript.Field{Name: "Content-Type", Value: "application/json"})
	case "GET":
		fields = append(fields, transcript.Field{Name: "Accept", Value: "text/event-stream"})
	}
	if !strings.Contains(body, `"initialize"`) {
		if s.session != "" {
			fields = append(fields, transcript.Field{Name: rapid.SampledFrom([]string{"Mcp-Session-Id", "MCP-SESSION-ID"}).Draw(s.T, "name"), Value: s.session})
		}
		if s.rev.AtLeast(spec.V20250618) {
			fields = append(fields, transcript.Field{Name: "MCP-Protocol-Version", Value: string(s.rev)})
		}
	}
	n := s.rec.Add(transcript.Event{Kind: transcript.Requested, Raw: transcript.HeadBytes(method+" /mcp HTTP/1.1", append(fields, more...))}).Exchange
	if body != "" {
		s.rec.Add(transcript.Event{Kind: transcript.Sent, Exchange: n, Raw: []byte(body)})
	}
	return n
}

func (s *server) head(n int, status, media string, more ...transcript.Field) {
	if media != "" {
		more = append(more, transcript.Field{Name: rapid.SampledFrom([]string{"Content-Type", "content-type"}).Draw(s.T, "name"), Value: media})
	}
	s.rec.Add(transcript.Event{Kind: transcript.Responded, Exchange: n, Raw: transcript.HeadBytes("HTTP/1.1 "+status, more)})
}

func (s *server) over(n int, how transcript.How) {
	s.rec.Add(transcript.Event{Kind: transcript.Over, Exchange: n, How: how})
}

func (s *server) json(n int, status, body string, more ...transcript.Field) {
	s.head(n, status, rapid.SampledFrom([]string{"application/json", "application/json; charset=utf-8", "Application/JSON"}).Draw(s.T, "media"), more...)
	s.rec.Add(transcript.Event{Kind: transcript.Received, Exchange: n, Raw: []byte(body)})
	s.over(n, transcript.Complete)
}

func (s *server) empty(n int, status string) {
	s.head(n, status, "")
	s.over(n, transcript.Complete)
}

// streamEvent sends the lines as an event on the stream.
func (s *server) streamEvent(r *running, lines ...string) {
	text := strings.Join(lines, r.end) + r.end + r.end
	s.rec.Add(transcript.Event{Kind: transcript.Streamed, Exchange: r.exchange, Stream: []byte(text)})
}

// message sends a message as an event, with or without an id.
func (s *server) message(r *running, text string) {
	var lines []string
	if r.resumes && !s.oneIn(4, "no id") {
		s.ids++
		id := fmt.Sprintf("%d-%x", r.id, s.ids)
		lines = append(lines, "id: "+id)
		defer func() { r.sent = append(r.sent, sent{id: id, lines: lines}) }()
	}
	if s.oneIn(2, "type") {
		lines = append(lines, "event: message")
	}
	if s.oneIn(3, "several lines") {
		cut := strings.Index(text, ",") + 1
		lines = append(lines, "data: "+text[:cut], "data:"+text[cut:])
	} else {
		lines = append(lines, "data: "+text)
	}
	s.streamEvent(r, lines...)
}

func (s *server) openStream(r *running) {
	s.head(r.exchange, "200 OK", rapid.SampledFrom([]string{transcript.EventStream, "text/event-stream;charset=UTF-8", "Text/Event-Stream"}).Draw(s.T, "media"))
	r.end = rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(s.T, "end of lines")
	r.streams = true
	r.resumes = s.rev == spec.V20251125 || s.oneIn(2, "ids")
	if s.rev == spec.V20251125 {
		s.ids++
		id := fmt.Sprintf("%d-%x", r.id, s.ids)
		s.streamEvent(r, "id: "+id, "retry: 100", "data:")
		r.sent = append(r.sent, sent{id: id, primes: true})
	}
	if s.oneIn(3, "comment") {
		s.streamEvent(r, ": hello")
	}
}

func (s *server) call() {
	s.asked++
	r := &running{id: s.asked}
	r.exchange = s.open("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":"t%d"}}}`, r.id, r.id))
	s.calls = append(s.calls, r)
}

func (s *server) listen() {
	r := &running{exchange: s.open("GET", "")}
	if s.oneIn(3, "405") {
		s.empty(r.exchange, "405 Method Not Allowed")
		return
	}
	s.asked++
	r.id = 100_000 + s.asked
	s.openStream(r)
	s.calls = append(s.calls, r)
}

// isCall reports whether r answers a request.
func (r *running) isCall() bool { return r.id < 100_000 }

func (s *server) interim(r *running) {
	r.step++
	switch {
	case s.oneIn(3, "comment"):
		s.streamEvent(r, ": still here")
	case s.pings < 3 && s.oneIn(3, "ping"): // more would be excessive, because no time passes
		s.pings++
		s.asked++
		s.message(r, fmt.Sprintf(`{"jsonrpc":"2.0","id":"s%d","method":"ping"}`, s.asked))
		s.empty(s.open("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":"s%d","result":{}}`, s.asked)), "202 Accepted")
	case r.isCall():
		s.message(r, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t%d","progress":%d}}`, r.id, r.step))
	default:
		s.message(r, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	}
}

// finish ends the stream, or sends the response as JSON.
func (s *server) finish(i int) {
	r := s.calls[i]
	s.calls = append(s.calls[:i:i], s.calls[i+1:]...)
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, r.id)
	switch {
	case !r.isCall():
		s.over(r.exchange, rapid.SampledFrom([]transcript.How{transcript.Complete, transcript.Dropped, transcript.Broken}).Draw(s.T, "how"))
	case r.streams:
		s.message(r, answer)
		s.over(r.exchange, transcript.Complete)
	default:
		s.json(r.exchange, "200 OK", answer)
	}
}

// reconnect ends the connection but not the stream: the client resumes it after the last event that it
// received.
func (s *server) reconnect(r *running) {
	if len(r.sent) == 0 {
		return
	}
	how := rapid.SampledFrom([]transcript.How{transcript.Dropped, transcript.Broken, transcript.Complete}).Draw(s.T, "how")
	if s.rev != spec.V20251125 && how == transcript.Complete {
		how = transcript.Broken
	}
	s.over(r.exchange, how)
	taken := rapid.IntRange(0, len(r.sent)-1).Draw(s.T, "taken")
	lost := r.sent[taken+1:]
	r.exchange = s.open("GET", "", transcript.Field{Name: "Last-Event-ID", Value: r.sent[taken].id})
	s.openStream(r)
	for _, e := range lost {
		if !e.primes {
			s.streamEvent(r, e.lines...)
		}
	}
	r.resumes = true
}

func (s *server) step() {
	switch n := rapid.IntRange(0, 9).Draw(s.T, "step"); {
	case n == 0:
		s.call()
	case n == 1:
		s.listen()
	case n == 2:
		s.empty(s.open("POST", `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`), "202 Accepted")
	case n == 3:
		s.json(s.open("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`), "400 Bad Request", `{"jsonrpc":"2.0","error":{"code":-32602,"message":"no id"}}`)
	case n == 4:
		s.json(s.open("POST", `{"jsonrpc":"2.0","id":`), "400 Bad Request", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`)
	case len(s.calls) == 0:
		s.call()
	default:
		i := rapid.IntRange(0, len(s.calls)-1).Draw(s.T, "which")
		r := s.calls[i]
		switch {
		case n == 5:
			s.finish(i)
		case r.isCall() && !r.streams:
			s.openStream(r)
		case n == 6:
			s.reconnect(r)
		default:
			s.interim(r)
		}
	}
}

func (s *server) initialize() {
	welcome := fmt.Sprintf(`{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}`, s.rev)
	n := s.open("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, s.rev))
	if s.oneIn(2, "session") {
		s.session = "b0f5c9c2-64de-4d4e-8f0e-0f9d2a7c5e11"
		s.json(n, "200 OK", welcome, transcript.Field{Name: "Mcp-Session-Id", Value: s.session})
	} else {
		s.json(n, "200 OK", welcome)
	}
	s.empty(s.open("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`), "202 Accepted")
}

func (s *server) endSession() {
	if s.session == "" || !s.oneIn(2, "goodbye") {
		return
	}
	s.empty(s.open("DELETE", ""), rapid.SampledFrom([]string{"200 OK", "202 Accepted", "204 No Content"}).Draw(s.T, "status"))
	for _, r := range s.calls {
		s.over(r.exchange, transcript.Complete)
	}
	s.json(s.open("POST", `{"jsonrpc":"2.0","id":"late","method":"ping"}`), "404 Not Found", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
}

// A conforming server gets at most notes, whatever legal behavior is drawn. The same holds after
// the transcript was written and read, and for a conversation that is still open.
func TestLegalTrafficGetsAtMostNotes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &server{
			T: t, rec: transcript.New(),
			rev: rapid.SampledFrom([]spec.Revision{spec.V20250326, spec.V20250618, spec.V20251125}).Draw(t, "revision"),
		}
		s.rec.Add(transcript.Event{Kind: transcript.Opened})
		s.initialize()
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			s.step()
		}
		s.endSession()
		whole := s.rec.From(0)
		var file strings.Builder
		if err := transcript.WriteRecording(&file, &transcript.Recording{Events: whole}); err != nil {
			t.Fatal(err)
		}
		read, err := transcript.ReadRecordings("", strings.NewReader(file.String()))
		if err != nil {
			t.Fatal(err)
		}
		beginning := whole[:rapid.IntRange(0, len(whole)).Draw(t, "so far")]
		for _, events := range [][]*transcript.Event{whole, read[0].Events, beginning} {
			for _, r := range rules.Judge(all(), events, s.rev, spec.StreamableHTTP) {
				for _, d := range r.Deviations {
					if d.Outcome(spec.Requirements().Lookup(r.Requirement), r.Revision) > verdict.Note {
						t.Fatalf("%s: %s, of\n%s", r.Requirement, d.Summary, file.String())
					}
				}
			}
		}
	})
}

// A hostile server must not make judging expensive. The bound is generous: quadratic work in the
// amount of traffic takes minutes.
func TestJudgingHTTPIsBounded(t *testing.T) {
	for name, streamEvent := range map[string]string{
		"responses":     "data: {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\n\n",
		"ids":           "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n",
		"progress":      "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"t7\",\"progress\":1}}\n\n",
		"comments":      ": x\n\n",
		"blank lines":   "\n",
		"endpoints":     "event: endpoint\ndata: /x\n\n",
		"lines":         strings.Repeat(":\n", 200) + "\n",
		"no JSON":       "data: x\n\n",
		"lines of data": strings.Repeat("data\n", 100) + "\n",
	} {
		for _, transport := range []spec.Transport{spec.StreamableHTTP, spec.SSE} {
			t.Run(name+"/"+string(transport), func(t *testing.T) {
				s := &server{rec: transcript.New(), rev: spec.V20251125, session: "x"}
				var exchanges []int
				for i := range 300 {
					method, body := "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":"t%d"}}}`, i, i)
					var more []transcript.Field
					if i%3 == 0 {
						method, body = "GET", ""
						more = []transcript.Field{{Name: "Last-Event-ID", Value: "1"}}
					}
					n := s.rec.Add(transcript.Event{Kind: transcript.Requested, Raw: transcript.HeadBytes(method+" /x HTTP/1.1", more)}).Exchange
					if body != "" {
						s.rec.Add(transcript.Event{Kind: transcript.Sent, Exchange: n, Raw: []byte(body)})
					}
					s.rec.Add(transcript.Event{Kind: transcript.Responded, Exchange: n, Raw: []byte("HTTP/1.1 200 OK\nContent-Type: text/event-stream")})
					exchanges = append(exchanges, n)
				}
				for i := range 4000 {
					s.rec.Add(transcript.Event{Kind: transcript.Streamed, Exchange: exchanges[i%len(exchanges)], Stream: []byte(streamEvent)})
				}
				for _, n := range exchanges {
					s.over(n, transcript.Complete)
				}
				began := time.Now()
				rules.Judge(all(), s.rec.From(0), s.rev, transport)
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("judging took %v", took)
				} else {
					t.Logf("%v", took)
				}
			})
		}
	}
}
