package base

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// A server that leaks a resource with each error, such as a slot of a pool, has none left after
// some errors. Over HTTP each request has its own connection, so fewer are sent.
const (
	manyErrors         = 104
	manyErrorsOverHTTP = 48
	errorsAtOnce       = 8
)

func manyErrorsCase() suite.Case {
	return suite.Case{
		ID:       "errors.many",
		Title:    "Sends many requests that the server must refuse, then a valid one",
		Provokes: []string{"base.request-answered", "base.response-once"},
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			type request struct {
				method string
				params map[string]any
			}
			refused := []request{{method: unknown[0].method}}
			for _, b := range badParams {
				if c.Server().Declares(b.capability) && b.params == nil {
					refused = append(refused, request{method: b.method})
				}
			}
			total := manyErrors
			if t.Transport != spec.Stdio {
				total = manyErrorsOverHTTP
			}
			for sent := 0; sent < total; {
				var requests [][]byte
				for range c.BurstSize(errorsAtOnce, c.Request(c.NewID(), unknown[0].method, nil)) {
					r := refused[(sent+len(requests))%len(refused)]
					requests = append(requests, c.Request(c.NewID(), r.method, r.params))
				}
				for _, r := range c.DoAll(ctx, requests) {
					if !r.Answered() {
						return // rules judge the missing response
					}
				}
				sent += len(requests)
			}
			c.Do(ctx, c.HarmlessMethod(), nil)
		},
	}
}
