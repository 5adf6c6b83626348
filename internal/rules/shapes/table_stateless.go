package shapes

import (
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// statelessRows returns the rows of what 2026-07-28 adds to results. The entries of inputRequests
// are judged by the same rows as the server's requests.
func statelessRows() []row {
	return []row{
		{place: membersOf("resultType"), elsewhere: true}, // stateless.result-type
		{place: membersOf("ttlMs"), elsewhere: true},      // caching.ttl.integer
		{place: membersOf("cacheScope"), elsewhere: true}, // caching.scope.known-value
		{
			in: spec.MethodDiscover, place: "DiscoverResult.supportedVersions", ids: "discover.supported-versions",
			summary: "The server's result of server/discover has no supportedVersions.", ifPresent: "The server's supportedVersions are not an array of strings.",
		},
		{in: inputTopic, place: "InputRequiredResult.inputRequests.*", elsewhere: true}, // mrtr.input-request-kinds judges the method of each entry
		{
			in: inputTopic, place: "InputRequiredResult.inputRequests", ids: "mrtr.input-request-kinds",
			summary: "The server's inputRequests are not an object.", fix: "Send inputRequests as an object that maps each key to a request.",
		},
		{
			in: inputTopic, place: "InputRequiredResult.requestState", ids: "mrtr.inputs-or-state",
			summary: "The server's requestState is not a string.", fix: "Make requestState a string, or leave it out if there are inputRequests.",
		},
	}
}

// membersOf returns the places of the named member, which many types of results have.
func membersOf(member string) string {
	results := []string{
		"DiscoverResult", "ListToolsResult", "ListResourcesResult", "ListResourceTemplatesResult", "ListPromptsResult", "ReadResourceResult",
		"CallToolResult", "GetPromptResult", "CompleteResult", "InputRequiredResult", "SubscriptionsListenResult",
	}
	for i, result := range results {
		results[i] = result + "." + member
	}
	return strings.Join(results, " ")
}
