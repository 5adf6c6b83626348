package refserver_test

import (
	"fmt"
	"strings"
	"testing"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// TestNothingFollowsCancellation cancels calls that report progress as fast as they
// can, and shows that no progress follows the response to a later request. A response
// may: it can be on its way when the cancellation is read.
func TestNothingFollowsCancellation(t *testing.T) {
	r := startStdio(t, refserver.Options{})
	for n := range 50 {
		token := fmt.Sprintf(`"token-%d"`, n)
		meta := strings.Replace(metaOnly, "{", `{"progressToken":`+token+`,`, 1)
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"call-%d","method":"tools/call","params":{"name":"slow","arguments":{"durationMs":0,"steps":100},%s}}`, n, meta))
		r.nextLine()
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"call-%d"}}`, n),
			fmt.Sprintf(`{"jsonrpc":"2.0","id":"fence-%d","method":"server/discover","params":{%s}}`, n, metaOnly))
		for fenced := false; !fenced; {
			line := r.nextLine()
			fenced = strings.Contains(line, fmt.Sprintf(`"fence-%d"`, n))
			if strings.Contains(line, `"progressToken"`) && !strings.Contains(line, token) {
				t.Errorf("after the response to a later request, the server sent %s", line)
			}
		}
	}
	r.in.Close()
	for _, line := range r.remainingLines() {
		if strings.Contains(line, `"progressToken"`) {
			t.Errorf("at the end the server sent %s", line)
		}
	}
}
