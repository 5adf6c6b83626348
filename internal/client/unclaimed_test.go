package client

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestErrorsWithoutID checks that the wait for a response ends soon after an error without an id if
// nothing else that was sent explains the error, and otherwise lasts as long as that for any response:
// the error may be about a notification, or about a message that the server can't read.
func TestErrorsWithoutID(t *testing.T) {
	valid := wire.NewRequest(wire.StringID("before"), spec.MethodPing, nil)
	notification := wire.NewNotification(spec.MethodInitialized, nil)
	for _, test := range []struct {
		name    string
		before  [][]byte // sent before the request
		errors  int      // come in answer to the request
		isShort bool
	}{
		{"no response came before, so the server may still start", nil, 1, false},
		{"the only explanation is the request", [][]byte{valid}, 1, true},
		{"a notification explains one", [][]byte{valid, notification}, 1, false},
		{"a notification explains one, even later", [][]byte{valid, notification, valid}, 1, false},
		{"a notification does not explain two", [][]byte{valid, notification}, 2, true},
		{"a response explains one", [][]byte{valid, wire.NewResult(wire.StringID("s"), nil)}, 1, false},
		{"a request with the id null explains one", [][]byte{valid, []byte(`{"jsonrpc":"2.0","id":null,"method":"ping"}`)}, 1, false},
		{"a request with an array as id explains one", [][]byte{valid, []byte(`{"jsonrpc":"2.0","id":[],"method":"ping"}`)}, 1, false},
		{"a request of another version explains one", [][]byte{valid, []byte(`{"jsonrpc":"1.0","id":7,"method":"ping"}`)}, 1, false},
		{"a request with a text as params explains one", [][]byte{valid, []byte(`{"jsonrpc":"2.0","id":7,"method":"ping","params":"a"}`)}, 1, false},
		{"a request with a result explains one", [][]byte{valid, []byte(`{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}`)}, 1, false},
		{"a batch explains any number", [][]byte{valid, []byte(`[` + string(valid) + `]`)}, 3, false},
		{"an unreadable frame explains any number", [][]byte{valid, []byte(`{`)}, 3, false},
	} {
		for _, id := range []string{"", `"id":null,`} {
			t.Run(test.name+" "+id, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := &scripted{on: func(s *scripted, m *wire.Message) {
						switch {
						case m.Method == spec.MethodToolsList:
							for range test.errors {
								s.write([]byte(`{"jsonrpc":"2.0",` + id + `"error":{"code":-32601,"message":"unknown method"}}`))
							}
						case m.Kind == wire.Request && m.ID.IsPresent() && !m.ID.IsNull():
							s.write(normalResponse(m))
						}
					}}
					checkWait(t, server, test.before, test.isShort)
				})
			})
		}
	}
}

// TestInvalidResponse checks that the wait for a response ends soon after a message with an id that is
// neither a request nor a response, but not after other JSON, such as a line of a log.
func TestInvalidResponse(t *testing.T) {
	for _, test := range []struct {
		name, format string
		isShort      bool
	}{
		{"neither a result nor an error", `{"jsonrpc":"2.0","id":%s}`, true},
		{"a line of a log", `{"level":"info","id":%s,"text":"working"}`, false},
		{"a line of a log about an error", `{"level":"error","request":%s,"error":"not found"}`, false},
		{"a line of a log about a result", `{"level":"info","request":%s,"result":"found"}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &scripted{on: func(s *scripted, m *wire.Message) {
					s.write(fmt.Appendf(nil, test.format, m.ID.Raw()))
				}}
				checkWait(t, server, nil, test.isShort)
			})
		})
	}
}

// checkWait sends the frames, and then a request that the server does not answer. It checks whether the
// client gives up before the timeout.
func checkWait(t *testing.T, server *scripted, before [][]byte, isShort bool) {
	const timeout = 2 * time.Second
	c, err := Open(t.Context(), server, Options{Revision: spec.V20251125, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.started.Store(true)
	if err := c.Send(t.Context(), before...); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r := c.Do(t.Context(), spec.MethodToolsList, nil)
	if took := time.Since(began); !errors.Is(r.Err, ErrUnanswered) || (took < timeout) != isShort {
		t.Errorf("after %v: %v", took, r.Err)
	}
}
