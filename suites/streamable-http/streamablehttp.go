// Package streamablehttp checks what is specific to servers over Streamable HTTP. Most of its cases
// only create traffic, which the rules on HTTP judge. Most cases send few requests, one after the
// other.
package streamablehttp

import "github.com/mcp-conform/mcp-conform/internal/suite"

// Cases returns the cases of the area streamable-http.
func Cases() []suite.Case {
	return []suite.Case{
		resumptionCase(),
		getStreamCase(),
		listChangeCase(), oneChangeCase(),
		sideBySideCase(), negotiatedListsCase(),
		sessionCase(),
		bodyCase(),
		methodCase(),
		versionHeaderCase(),
		originCase(),
		boundCase(),
		acceptCase(), contentTypeCase(),
		headerCase(), nameCase(), paramCase(),
	}
}
