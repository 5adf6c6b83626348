package transcript_test

import (
	"fmt"
	"os"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// A Dialogue pairs each request with its outcome.
func ExampleDialogue() {
	rec := transcript.New()
	for _, raw := range []string{
		`> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"a"}}}`,
		`> {"jsonrpc":"2.0","id":2,"method":"ping"}`,
		`< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":1}}`,
		`< {"jsonrpc":"2.0","id":2,"result":{}}`,
		`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
	} {
		kind := transcript.Sent
		if raw[0] == '<' {
			kind = transcript.Received
		}
		rec.Add(transcript.Event{Kind: kind, Raw: []byte(raw[2:])})
	}
	for _, r := range rec.Dialogue().Requests() {
		fmt.Printf("%s: %d responses, %d cancellations, %d progress, in flight at 4: %v\n",
			r.Message.Method, len(r.Responses), len(r.Cancellations), len(r.Progress), r.InFlight(4))
	}
	// Output:
	// tools/call: 0 responses, 1 cancellations, 1 progress, in flight at 4: true
	// ping: 1 responses, 0 cancellations, 0 progress, in flight at 4: false
}

// An HTTP transport records each exchange as it happens.
func ExampleTranscript_Add_exchange() {
	rec := transcript.New()
	rec.Add(transcript.Event{Kind: transcript.Opened, Detail: "http://localhost:3000/mcp"})

	// The exchange gets its number from its first event.
	n := rec.Add(transcript.Event{Kind: transcript.Requested, Raw: transcript.HeadBytes("POST /mcp HTTP/1.1", []transcript.Field{
		{Name: "Accept", Value: "application/json, text/event-stream"}, {Name: "Content-Type", Value: "application/json"},
	})}).Exchange
	rec.Add(transcript.Event{Kind: transcript.Sent, Exchange: n, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)})
	rec.Add(transcript.Event{Kind: transcript.Responded, Exchange: n, Raw: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")})

	// A Splitter cuts the event stream into chunks; Add finds out whether a chunk carries a
	// message.
	var s transcript.Splitter
	for _, read := range []string{"id: 1\ndata:\n\nid: 2\nda", "ta: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n: unfini"} {
		for _, piece := range s.Feed([]byte(read)) {
			rec.Add(transcript.Event{Kind: transcript.Streamed, Exchange: n, Stream: piece})
		}
	}
	if rest := s.End(); rest != nil {
		rec.Add(transcript.Event{Kind: transcript.Streamed, Exchange: n, Stream: rest})
	}
	rec.Add(transcript.Event{Kind: transcript.Over, Exchange: n, How: transcript.Broken, Detail: "unexpected EOF"})

	events := rec.From(0)
	for _, e := range events {
		e.At = 0 // the time varies
	}
	if err := transcript.WriteScript(os.Stdout, &transcript.Recording{Transport: "streamable-http", Events: events}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// transport: streamable-http
	//
	// ! opened http://localhost:3000/mcp
	// 1> POST /mcp HTTP/1.1
	//    Accept: application/json, text/event-stream
	//    Content-Type: application/json
	// 1>> {"jsonrpc":"2.0","id":1,"method":"ping"}
	// 1<q "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	// 1<~ id: 1
	//     data:
	// 1<~ id: 2
	//     data: {"jsonrpc":"2.0","id":1,"result":{}}
	// 1<~q ": unfini"
	// 1! broken unexpected EOF
}
