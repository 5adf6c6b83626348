package transcript

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// drawHTTP fills in an event of an HTTP exchange.
func drawHTTP(t *rapid.T, e *Event) {
	e.Exchange = rapid.IntRange(1, 1000).Draw(t, "exchange")
	text := rapid.OneOf(
		rapid.SliceOf(rapid.Byte()),
		rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }),
		rapid.SampledFrom([][]byte{
			[]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nX: a\r\n b"),
			[]byte("POST /mcp HTTP/1.1\nHost: localhost:3000\naccept: */*"),
			[]byte("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"),
			[]byte("event: response\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata:\"id\":1,\"result\":{}}\r\n\r\n"),
			[]byte("id: 7\ndata:\n\n"), []byte(": ping\n\n"), []byte("\n"), []byte("retry: 10"), []byte(byteOrderMark),
		}),
	)
	switch e.Kind {
	case Streamed:
		e.Stream = text.Draw(t, "piece")
	case Over:
		e.How = rapid.SampledFrom(endings).Draw(t, "how")
	default:
		e.Raw = text.Draw(t, "head")
	}
}

func TestParseHead(t *testing.T) {
	h := ParseHead([]byte("HTTP/1.1 200 OK\r\nContent-Type:  Text/Event-Stream ; charset=utf-8\r\nset-cookie: a\r\nno header\r\nSet-Cookie: b\r\nX-Long: one\r\n\ttwo \r\n"))
	want := &Head{Line: "HTTP/1.1 200 OK", Fields: []Field{
		{"Content-Type", "Text/Event-Stream ; charset=utf-8"}, {"set-cookie", "a"}, {"", "no header"}, {"Set-Cookie", "b"}, {"X-Long", "one two"},
	}}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	if h.Status() != 200 || h.MediaType() != EventStream || h.Get("SET-COOKIE") != "a, b" || h.Has("x") || !h.Has("x-long") {
		t.Errorf("status %d, type %q, cookies %q", h.Status(), h.MediaType(), h.Get("SET-COOKIE"))
	}
	if r := ParseHead([]byte("DELETE /mcp?a=b HTTP/1.1")); r.Method() != "DELETE" || r.Target() != "/mcp?a=b" || r.Status() != 0 || r.MediaType() != "" {
		t.Errorf("read: %+v", r)
	}
	if h := ParseHead(nil); h.Line != "" || h.Status() != 0 {
		t.Errorf("read: %+v", h)
	}
	var none *Head
	if none.Has("x") || none.Get("x") != "" {
		t.Error("no head has a header")
	}
	if diff := cmp.Diff(want.Fields[0:2], ParseHead(HeadBytes(want.Line, want.Fields[0:2])).Fields); diff != "" {
		t.Errorf("a head made of its parts (-want +got):\n%s", diff)
	}
}

const httpScript = `revision: 2025-11-25
transport: streamable-http

1> POST /mcp HTTP/1.1
   Content-Type: application/json
   Authorization: Bearer abc
1>> {"jsonrpc":"2.0","id":0,"method":"initialize"}
2> GET /mcp HTTP/1.1
1< HTTP/1.1 200 OK
   content-type: text/event-stream
2< HTTP/1.1 405 Method Not Allowed
2<< "no stream"
2! complete
1<~q "\ufeff"
1<~ id: 1
    data:
1<~ : ping
1<~ id: 2
    event: message
    data: {"jsonrpc":"2.0",
    data: "id":0,"result":{}}
1<~q "data: x\r\n\r\n"
1<~
1<~q "event: answer\rdata: {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\r"
! flooded xxx
! exchange 1
1! broken unexpected EOF
`

func TestExchangesInScripts(t *testing.T) {
	r, err := ParseScript(httpScript)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteScript(&b, r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(httpScript, b.String()); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	index := ExchangesOf(r.Events)
	all := index.All()
	if len(all) != 2 {
		t.Fatalf("%d exchanges", len(all))
	}
	post, get := all[0], all[1]
	if index.Of(get.End) != get || index.Of(r.Events[0]) != nil || index.Of(nil) != nil {
		t.Error("an event is not found in its exchange")
	}
	if post.Method() != "POST" || post.Status() != 200 || !post.IsStream() || !post.Succeeded() || post.HowEnded() != Broken || post.End.Detail != "unexpected EOF" {
		t.Errorf("the first exchange: %+v", post)
	}
	if get.Method() != "GET" || get.Status() != 405 || get.IsStream() || !get.Refused() || get.HowEnded() != Complete || get.Sent != nil || len(get.Body) != 1 {
		t.Errorf("the second exchange: %+v", get)
	}
	if m := post.Sent.Messages(); len(m) != 1 || m[0].Method != "initialize" {
		t.Errorf("sent: %v", m)
	}
	var kinds []Kind
	for _, e := range post.Body {
		kinds = append(kinds, e.Kind)
	}
	want := []Kind{Streamed, Streamed, Streamed, Received, Received, Streamed, Received}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("pieces of the stream (-want +got):\n%s", diff)
	}
	if got := post.Messages(); len(got) != 2 || got[0].ID.Raw() != "0" || got[1].ID.Raw() != "0" {
		t.Errorf("messages: %v", got)
	}
	if found, err := ReadRecordings("f", strings.NewReader(httpScript)); err != nil || len(found) != 1 {
		t.Errorf("as a file: %v, %v", found, err)
	}
}

func TestExchangeErrorsNameLine(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"nothing to go on with", "# x\n  Host: x", "2: a line that begins with a space continues"},
		{"after a quoted text", "1>q \"GET / HTTP/1.1\"\n  Host: x", "2: a line that begins with a space"},
		{"after a blank line", "1> GET / HTTP/1.1\n\n  Host: x", "3: a line that begins with a space"},
		{"an unknown end", "1! sadly", `1: an exchange cannot end "sadly"; use one of [complete`},
		{"exchange 0", "0> GET / HTTP/1.1", `1: "0> GET / HTTP/1.1" is not a line of a script`},
		{"not quoted well", `1<~q "a`, `1: "a is not a quoted string`},
		{"no number", "> {}\n! exchange x", "2: exchange needs the number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := ParseScript(c.script); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("the error is %v, not %q", err, c.want)
			}
		})
	}
}

func TestAddNumbersExchanges(t *testing.T) {
	tr := New()
	one := tr.Add(Event{Kind: Requested, Raw: []byte("POST / HTTP/1.1")})
	two := tr.Add(Event{Kind: Requested, Raw: []byte("GET / HTTP/1.1")})
	if one.Exchange != 1 || two.Exchange != 2 || two.Head.Method() != "GET" {
		t.Errorf("exchanges %d and %d", one.Exchange, two.Exchange)
	}
	e := tr.Add(Event{Kind: Streamed, Exchange: 1, Stream: []byte("data: {\"id\":1,\"result\":{}}\n\n")})
	if e.Kind != Received || string(e.Raw) != `{"id":1,"result":{}}` || e.Size != 20 || len(e.Messages()) != 1 {
		t.Errorf("%+v", e)
	}
	if e := tr.Add(Event{Kind: Streamed, Exchange: 1, Stream: []byte("id: 1\n\n")}); e.Kind != Streamed || e.Frame != nil || e.Raw != nil {
		t.Errorf("%+v", e)
	}
}

func TestExchangeHasRequest(t *testing.T) {
	x := &Exchange{Sent: &Event{Kind: Sent, Raw: []byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"result":{}},{"id":"3"},5]`)}}
	x.Sent.parse()
	for _, c := range []struct {
		id   string
		want bool
	}{{"1", true}, {"1.0", true}, {`"1"`, false}, {"2", false}, {`"3"`, true}, {"", false}} {
		if got := x.HasRequest(wire.RawID(c.id)); got != c.want {
			t.Errorf("a request with the id %q: %t", c.id, got)
		}
	}
	if (&Exchange{}).HasRequest(wire.RawID("1")) {
		t.Error("an exchange without a body has a request")
	}
}

func TestLimitBoundsExchanges(t *testing.T) {
	long := strings.Repeat("x", 3*wholeKept)
	tr := New()
	tr.limit = 0
	message := tr.Add(Event{Kind: Streamed, Exchange: 1, Stream: []byte("id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"" + long + "\"}\n\n")})
	if m := message.Messages(); message.Kind != Received || !message.IsCut() || len(message.Stream) > headKept || len(m) != 1 || m[0].ID.Raw() != "7" {
		t.Errorf("a message: cut %v, %d bytes of the stream, %v", message.IsCut(), len(message.Stream), m)
	}
	comment := tr.Add(Event{Kind: Streamed, Exchange: 1, Stream: []byte(": " + long + "\n\n")})
	if comment.Kind != Streamed || len(comment.Stream) > headKept {
		t.Errorf("a comment: %d bytes of the stream", len(comment.Stream))
	}
	head := tr.Add(Event{Kind: Responded, Exchange: 1, Raw: []byte("HTTP/1.1 200 OK\nA: b\nX: " + long)})
	if !head.IsCut() || head.Head.Status() != 200 || !head.Head.Has("A") || len(head.Head.Get("X")) > headKept {
		t.Errorf("a head: %+v", head.Head)
	}
	for _, text := range []string{"data\n", "data:x\n", "id:1\r", ":\n"} {
		tr := New()
		tr.limit = 1 << 20
		before, fed := heap(), 0
		piece := []byte(strings.Repeat(text, 50_000) + "\n")
		for fed < 3<<20 {
			fed += len(piece)
			tr.Add(Event{Kind: Streamed, Exchange: 1, Stream: bytes.Clone(piece)})
		}
		if grown, most := heap()-before, tr.limit+int64(2*wholeKept*tr.Len())+1<<19; grown > most {
			t.Errorf("%d bytes of %q take %d bytes of memory, more than %d", fed, text, grown, most)
		}
		if tr.Len() == 0 {
			t.Fatal("nothing was added")
		}
	}
}

func TestDescribe(t *testing.T) {
	h := ParseHead([]byte("POST / HTTP/1.1\nAccept: a/b\naccept: c/d\nX: y"))
	for name, want := range map[string]string{"Accept": "2 header lines, Accept: a/b and accept: c/d", "x": "X: y", "Host": "no Host"} {
		if got := h.Describe(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// TestStatuses checks which statuses are intercepted, and which are ambiguous.
func TestStatuses(t *testing.T) {
	var intercepted, ambiguous []int
	for status := range 1000 {
		if IsInterceptedStatus(status) {
			intercepted = append(intercepted, status)
		}
		if IsAmbiguousStatus(status) {
			ambiguous = append(ambiguous, status)
		}
	}
	if diff := cmp.Diff([]int{407, 429, 502, 503, 504}, intercepted); diff != "" {
		t.Errorf("intercepted (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{401, 402, 403, 407, 421, 429, 502, 503, 504}, ambiguous); diff != "" {
		t.Errorf("ambiguous (-want +got):\n%s", diff)
	}
}

// TestRefuseGet checks which exchanges show that the server has no stream for unprompted messages.
func TestRefuseGet(t *testing.T) {
	const (
		get     = "1> GET /mcp HTTP/1.1\n"
		refused = "1< HTTP/1.1 405 Method Not Allowed\n"
		stream  = "2> GET /mcp HTTP/1.1\n2< HTTP/1.1 200 OK\n   content-type: text/event-stream\n"
		post    = "3> POST /mcp HTTP/1.1\n3< HTTP/1.1 404 Not Found\n"
	)
	for name, test := range map[string]struct {
		script string
		want   bool
	}{
		"no GET":              {post, false},
		"refused":             {post + get + refused, true},
		"not answered yet":    {get, false},
		"refused, and served": {get + refused + stream, false},
		"too many requests":   {get + "1< HTTP/1.1 429 Too Many Requests\n", false},
		"a proxy at start":    {get + "1< HTTP/1.1 503 Service Unavailable\n", false},
		"without a token":     {get + "1< HTTP/1.1 401 Unauthorized\n", false},
	} {
		r, err := ParseScript("revision: 2025-11-25\ntransport: streamable-http\n\n" + test.script)
		if err != nil {
			t.Fatal(err)
		}
		if got := ExchangesOf(r.Events).RefusedAllGets(); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
