package base_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites/base"
)

func TestMessages(t *testing.T) {
	for _, m := range []suitetest.Misbehaviour{
		{
			Name: "ids given back", Case: "messages.ids",
			Kept: []string{"base.response-id-echo", "base.request-answered"},
		},
		{
			Name: "lists without their items", Case: "messages.ids",
			Seams: handle(func(c *refserver.Call, next handler) (any, *refserver.Error) {
				if strings.HasSuffix(c.Method, "/list") {
					return map[string]any{"nextCursor": "more"}, nil
				}
				return next(c)
			}),
			Kept: []string{"base.response-id-echo", "base.request-answered"}, // the rule on lists reports it
		},
		{
			Name: "a list for the ping with the same digits", Case: "messages.ids",
			Seams: handle(func(c *refserver.Call, next handler) (any, *refserver.Error) {
				if c.Method == spec.MethodPing && c.ID.Raw() == "7000011" {
					return map[string]any{"tools": []any{}, "prompts": []any{}, "resources": []any{}}, nil
				}
				return next(c)
			}),
			Want: []string{"base.response-id-echo: The server answers a request with the result of another request. (broken)"},
		},
		{Name: "string ids never answered", Case: "messages.ids", Seams: handle(func(c *refserver.Call, next handler) (any, *refserver.Error) {
			if c.ID.IsString() {
				return nil, refserver.NoResponse
			}
			return next(c)
		})}, // judged by a rule
		{Name: "requests in unusual spelling dropped", Case: "messages.ids", Seams: incoming(func(raw []byte) refserver.FrameAction {
			if !bytes.HasPrefix(raw, []byte(`{"jsonrpc"`)) {
				return refserver.Drop()
			}
			return refserver.Pass(raw)
		})}, // judged by a rule
		{
			Name: "silent to notifications", Case: "messages.unknown-notifications",
			Kept: []string{"base.unknown-notification-harmless", "base.notification-no-response"},
		},
		{Name: "notifications answered", Case: "messages.unknown-notifications", Seams: incoming(func(raw []byte) refserver.FrameAction {
			if bytes.Contains(raw, []byte("com.example.unknown")) {
				return refserver.Pass([]byte(`5`)) // refused without an id
			}
			return refserver.Pass(raw)
		}), Want: []string{"base.unknown-notification-harmless: The server answers an unknown notification. (warning)"}},
		{
			Name: "silent to odd notifications", Case: "messages.odd-notifications",
			Kept: []string{"base.notification-no-response"},
		},
		{
			Name: "foreign metadata taken", Case: "messages.foreign-meta",
			Kept: []string{"base.meta-foreign-keys-accepted"},
		},
		{
			Name: "foreign metadata refused", Case: "messages.foreign-meta",
			Seams: handle(func(c *refserver.Call, next handler) (any, *refserver.Error) {
				if strings.Contains(string(c.Params), "com.example") {
					return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "unknown member"}
				}
				return next(c)
			}),
			Want: []string{"base.meta-foreign-keys-accepted: The server refuses a request because of its _meta. (note)"},
		},
		{Name: "long request answered", Case: "messages.long", Kept: []string{"base.request-answered"}},
		{Name: "long request deadly", Case: "messages.long", Seams: incoming(onLong(die))}, // judged by a rule
		{Name: "long request refused", Case: "messages.long", Seams: handle(func(c *refserver.Call, next handler) (any, *refserver.Error) {
			if len(c.Params) > 64<<10 {
				return nil, &refserver.Error{Code: spec.CodeInvalidRequest, Message: "too long"}
			}
			return next(c)
		}), Kept: []string{"base.request-answered"}},
	} {
		m.Try(t, base.Cases())
	}
}

func TestBatches(t *testing.T) {
	for _, m := range []suitetest.Misbehaviour{
		{
			Name: "served", Case: "messages.batch",
			Kept: []string{
				"base.batch-receive", "base.batch-responses-complete", "base.batch-response-array",
				"base.batch-only-notifications-silent",
			},
		},
		{
			Name: "swallowed with notifications", Case: "messages.batch", Seams: incoming(onBatch(func(raw []byte) refserver.FrameAction {
				if bytes.Contains(raw, []byte("roots/list_changed")) {
					return refserver.Drop()
				}
				return refserver.Pass(raw)
			})),
			Want: []string{"base.batch-receive: The server does not serve a batch of requests and a notification. (broken)"},
			Kept: []string{"base.batch-response-array", "base.batch-only-notifications-silent"},
		},
		{
			Name: "answered one by one", Case: "messages.batch", Seams: func() refserver.Seams {
				return refserver.Seams{Outgoing: func(o *refserver.Out) {
					for i, f := range o.Frames {
						if bytes.HasPrefix(f, []byte("[")) {
							lines := bytes.ReplaceAll(f[1:len(f)-1], []byte(`},{"jsonrpc"`), []byte("}\n{\"jsonrpc\""))
							o.Frames[i] = lines
						}
					}
				}}
			},
			Want: []string{"base.batch-response-array: The server sends the responses to a batch one by one. (note)"},
		},
		{
			Name: "damaged, well met", Case: "messages.damaged-batch",
			Kept: []string{"base.batch-empty-array", "base.batch-invalid-members"},
		},
		{
			Name: "invalid member deadly", Case: "messages.damaged-batch", Seams: dieOf("[1,"),
			Want: []string{"base.batch-invalid-members: The server exits at a batch with an invalid member. (warning)"},
		},
		{
			Name: "invalid member passed over", Case: "messages.damaged-batch", Seams: rewrite("[1,", "["),
			Want: []string{"base.batch-invalid-members: The server ignores an invalid member of a batch. (warning)"},
		},
		{
			Name: "empty batch taken for text", Case: "messages.damaged-batch", Seams: incoming(func(raw []byte) refserver.FrameAction {
				if string(raw) == "[]" {
					return refserver.Pass([]byte(`no JSON`))
				}
				return refserver.Pass(raw)
			}),
			Want: []string{"base.batch-empty-array: The server answers an empty batch, but not with -32600. (warning)"},
		},
	} {
		m.Revision = spec.V20250326
		m.Try(t, base.Cases())
	}
}

func onBatch(f func([]byte) refserver.FrameAction) func([]byte) refserver.FrameAction {
	return func(raw []byte) refserver.FrameAction {
		if bytes.HasPrefix(raw, []byte("[")) {
			return f(raw)
		}
		return refserver.Pass(raw)
	}
}

// onLong handles lines of more than 64 KiB.
func onLong(f func([]byte) refserver.FrameAction) func([]byte) refserver.FrameAction {
	return func(raw []byte) refserver.FrameAction {
		if len(raw) > 64<<10 {
			return f(raw)
		}
		return refserver.Pass(raw)
	}
}
