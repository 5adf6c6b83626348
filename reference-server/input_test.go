package refserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

const rootsAnswer = `"inputResponses":{"input-1":{"roots":[]}},`

// askRoots calls a tool that asks for roots, with more params, and returns the
// response and its requestState.
func askRoots(c connection, more string) (response, state string) {
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask-roots",%s%s}}`, more, metaMember(stateless, `{"roots":{}}`)))
	response = c.nextLine()
	var m struct{ Result struct{ RequestState string } }
	_ = json.Unmarshal([]byte(response), &m) // an error has no state
	return response, m.Result.RequestState
}

func TestRequestStateExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := startStdio(t, refserver.Options{})
		_, state := askRoots(r, "")
		retry := fmt.Sprintf(`"requestState":%q,`, state) + rootsAnswer
		time.Sleep(10*time.Minute - time.Second)
		if got, _ := askRoots(r, retry); !strings.Contains(got, "The client has 0 roots.") {
			t.Errorf("before it expires a state gets %s", got)
		}
		time.Sleep(2 * time.Second)
		if got, _ := askRoots(r, retry); !strings.Contains(got, `"code":-32602`) {
			t.Errorf("after it has expired a state gets %s", got)
		}
	})
}

// TestNumbersBeyondFloat64 checks that the server reads what a client declares, and recognizes a second
// round, whatever numbers the metadata of the first holds.
func TestNumbersBeyondFloat64(t *testing.T) {
	r := startStdio(t, refserver.Options{})
	meta := metaMember(stateless, `{"roots":{"com.example/n":1e309}}`)
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask-roots",` + strings.Replace(meta, "{", `{"com.example/n":1e309,`, 1) + `}}`)
	var m struct{ Result struct{ RequestState string } }
	if err := json.Unmarshal([]byte(r.nextLine()), &m); err != nil || m.Result.RequestState == "" {
		t.Fatalf("no state: %v", err)
	}
	if got, _ := askRoots(r, fmt.Sprintf(`"requestState":%q,`, m.Result.RequestState)+rootsAnswer); !strings.Contains(got, "The client has 0 roots.") {
		t.Errorf("the second round gets %s", got)
	}
}

// TestRequestStateIsSigned checks that the server refuses a changed state.
func TestRequestStateIsSigned(t *testing.T) {
	r := startStdio(t, refserver.Options{})
	_, state := askRoots(r, "")
	payload, signature, _ := strings.Cut(state, ".")
	for i := range state {
		changed := []byte(state)
		if changed[i] ^= 1; i%16 > 0 || changed[i] == '"' || changed[i] == '\\' {
			continue
		}
		if got, _ := askRoots(r, fmt.Sprintf(`"requestState":%q,`, changed)+rootsAnswer); !strings.Contains(got, `"code":-32602`) {
			t.Errorf("with byte %d changed a state gets %s", i, got)
		}
	}
	for _, other := range []string{"", ".", payload, payload + ".", "." + signature, state + "." + signature, strings.Repeat("A", 1<<20)} {
		if got, _ := askRoots(r, fmt.Sprintf(`"requestState":%q,`, other)+rootsAnswer); !strings.Contains(got, `"code":-32602`) {
			t.Errorf("the state %.40q gets %s", other, got)
		}
	}
}

// TestAnyProcessContinues checks that a repeated request is self-contained: another
// server with the same key, over another transport, returns the result.
func TestAnyProcessContinues(t *testing.T) {
	first, second := refserver.Options{StateKey: "a key"}, refserver.Options{StateKey: "another key"}
	_, state := askRoots(startStdio(t, first), "")
	retry := fmt.Sprintf(`"requestState":%q,`, state) + rootsAnswer
	if got, _ := askRoots(startHTTP(t, first), retry); !strings.Contains(got, "The client has 0 roots.") {
		t.Errorf("a server with the same key says %s", got)
	}
	if got, _ := askRoots(startHTTP(t, second), retry); !strings.Contains(got, `"code":-32602`) {
		t.Errorf("a server with another key says %s", got)
	}
}
