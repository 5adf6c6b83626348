package suite_test

import (
	"net/http"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// TestOutsideAnswerCarriesResult checks that a result is found in a body of JSON and in an event
// stream, even if the stream has it in several lines or ends within the event.
func TestOutsideAnswerCarriesResult(t *testing.T) {
	const stream, document = "text/event-stream", "application/json"
	for _, c := range []struct {
		contentType, body string
		want              bool
	}{
		{document, `{"jsonrpc":"2.0","id":1,"result":{}}`, true},
		{document, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}`, false},
		{document, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", false},
		{stream, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", true},
		{stream, "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{}}\n\n", true},
		{stream, ": hello\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", true},
		{stream, "data: hello\n\n", false},
	} {
		a := &suite.OutsideResponse{Status: 200, Header: http.Header{"Content-Type": {c.contentType}}, Body: []byte(c.body)}
		if got := a.CarriesResult(); got != c.want {
			t.Errorf("%s %q carries a result: %v, want %v", c.contentType, c.body, got, c.want)
		}
	}
}
