package spec

import "strings"

// Keys of _meta that 2026-07-28 reserves. MetaServerInfo is for results, MetaSubscriptionID
// for messages of a subscription, and the others are for a client's requests.
const (
	MetaVersion            = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel           = "io.modelcontextprotocol/logLevel"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	MetaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"
)

// MetaPointer returns the JSON pointer to a key of _meta in params or a result.
func MetaPointer(key string) string { return "/_meta/" + strings.ReplaceAll(key, "/", "~1") }

// Values of resultType in 2026-07-28. Extensions may add others.
const (
	ResultComplete      = "complete"
	ResultInputRequired = "input_required"
)
