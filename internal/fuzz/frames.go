package fuzz

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

type jsonValue = jsontext.Value

// headers are those of the session, with those of the exchange in their place.
func headers(web transport.Web, x *generate.Exchange) []transcript.Field {
	fields := web.Headers(x.Method)
	replaced := map[string]bool{}
	for _, h := range x.Headers {
		name := strings.ToLower(h[0])
		if !replaced[name] {
			fields = slices.DeleteFunc(fields, func(f transcript.Field) bool { return strings.EqualFold(f.Name, name) })
			replaced[name] = true
		}
		if h[1] != "" {
			fields = append(fields, transcript.Field{Name: h[0], Value: h[1]})
		}
	}
	return fields
}
