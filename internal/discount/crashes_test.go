package discount

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCrashNotice checks which exits a notice calls a crash.
func TestCrashNotice(t *testing.T) {
	const answered = `revision: 2025-11-25
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"unknown"}}
		> {"jsonrpc":"2.0","id":2,"method":"ping"}
		< {"jsonrpc":"2.0","id":2,"result":{}}
		`
	const want = "the server's process crashed once while no request waited for a response: exit status 1 after responses to tools/call, ping"
	for name, test := range map[string]struct{ script, want string }{
		"it fails after its responses": {answered + "! exit 1", want},
		"its last words":               {answered + "! stderr Error: secret\n! exit 1", want + "; its output says: Error: hidden"},
		"it ends without a failure":    {answered + "! exit 0", ""},
		"its input was closed":         {answered + "! close-input\n! exit 1", ""},
		"it was killed":                {answered + "! signal SIGKILL\n! exit 1", ""},
		"a request waits": {answered + `> {"jsonrpc":"2.0","id":3,"method":"ping"}
			! exit 1`, ""},
		"a notification was last": {answered + `> {"jsonrpc":"2.0","method":"notifications/odd"}
			! exit 1`, ""},
		"it never answered": {"revision: 2025-11-25\n! exit 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			conv := conversation(eventsOf(t, test.script))
			conv.OwnProcess = true
			r, redact := NewRun(), func(text string) string { return strings.ReplaceAll(text, "secret", "hidden") }
			r.Observe(conv)
			if diff := cmp.Diff(test.want, strings.Join(r.ExitNotices(nil, false, redact), "\n")); diff != "" {
				t.Error(diff)
			}
			conv.OwnProcess = false
			r = NewRun()
			r.Observe(conv)
			if got := r.ExitNotices(nil, false, redact); len(got) > 0 {
				t.Errorf("a process that others use, too: %q", got)
			}
		})
	}
}
