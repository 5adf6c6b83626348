package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// boundFaults are about where the server listens.
func boundFaults() []Fault {
	row := func(requirement string, over spec.Transport) Fault {
		f := breaks(requirement+"/everywhere", "the server listens on all addresses of the machine", refserver.Seams{}).over(over)
		f.Everywhere = true
		return f
	}
	return []Fault{row("streamable-http.bind-localhost", spec.StreamableHTTP), row("sse.bind-localhost", spec.SSE)}
}
