package engine

import "testing"

// TestUnansweredSince checks which statuses of the last response may mean that the server no longer
// serves.
func TestUnansweredSince(t *testing.T) {
	const served = `transport: streamable-http

1> POST / HTTP/1.1
1>> {"jsonrpc":"2.0","id":1,"method":"ping"}
1< HTTP/1.1 200 OK
   Content-Type: application/json
1<< {"jsonrpc":"2.0","id":1,"result":{}}
1! complete
2> POST / HTTP/1.1
2>> {"jsonrpc":"2.0","id":2,"method":"ping"}
2< HTTP/1.1 `
	for line, want := range map[string]bool{
		"400 Bad Request": false, "404 Not Found": false,
		"401 Unauthorized": true, "402 Payment Required": true, "421 Misdirected Request": true, "500 Internal Server Error": true,
	} {
		if _, got := unansweredSince(eventsOf(t, served+line+"\n2! complete\n")); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}
