package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// metadataURLFaults returns the faults in which metadata has URLs that harm the clients that follow
// them.
func metadataURLFaults() []*Fault {
	member := func(name, value string) *refserver.Seams {
		return editResourceMetadata(func(d *refserver.Document) { d.Members[name] = value })
	}
	out := []*Fault{
		newFault("security.metadata.url-schemes/challenge", "the challenge names a javascript: URL", replaceInChallenges(`resource_metadata="http`, `resource_metadata="JavaScript:alert(1)//http`)),
		newFault("security.metadata.url-schemes/server", "an authorization server is a data: URL", editResourceMetadata(func(d *refserver.Document) {
			d.Members["authorization_servers"] = append(d.Members["authorization_servers"].([]any), "data:text/html,x")
		})),
		newFault("security.metadata.url-schemes/keys", "the keys of the resource are a file: URL", member("jwks_uri", "file:///etc/passwd")),
		newFault("security.metadata.internal-addresses/cloud", "the keys of the resource are at a link-local address", member("jwks_uri", "http://169.254.169.254/latest/meta-data/")),
	}
	for i := range out { // 2025-03-26 has no metadata of the resource
		out[i] = out[i].inRevisions(spec.V20250618, spec.V20251125, spec.V20260728)
	}
	out = append(out,
		newFault("security.metadata.url-schemes/endpoint", "the authorization endpoint is a javascript: URL", editServerMetadata(func(members map[string]any) {
			members["authorization_endpoint"] = "javascript:alert(1)"
		})),
	)
	for i := range out {
		out[i] = out[i].overTransports(spec.StreamableHTTP)
		out[i].Protected = true
	}
	return out
}
