package spec

import (
	"slices"
	"strings"
)

// The base addresses of the published pages.
const (
	site    = "https://modelcontextprotocol.io/"
	source  = "https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/"
	jsonRPC = "https://www.jsonrpc.org/specification"
)

// practices is the catalogue's name for the page of security best practices,
// which is not part of the specification.
const practices = "security_best_practices (docs/docs/<revision>/tutorials/security)"

// Page returns the public URL of the page that states q in revision r, with the anchor of the
// heading if the page has one. If r is not a revision of q, it returns the URL for the newest
// revision of q. If q rests on text that MCP, up to 2025-11-25, inherits from JSON-RPC 2.0, Page
// returns a URL of the JSON-RPC specification.
func (q *Requirement) Page(r Revision) string {
	if !slices.Contains(q.Revisions, string(r)) {
		r = Revision(slices.Max(q.Revisions))
	}
	if heading := inherited[q.Section]; heading != "" && q.Basis(r) == JSONRPC && !r.AtLeast(V20260728) {
		return jsonRPC + "#" + heading
	}
	return PageOf(q.Section, r)
}

// PageOf returns the public URL of a section of the catalogue, such as
// basic/index#messages, in revision r.
func PageOf(section string, r Revision) string {
	page, heading, _ := strings.Cut(sectionIn(section, r), "#")
	address := site + "specification/" + string(r)
	switch {
	case page == practices:
		address = site + "docs/" + string(r) + "/tutorials/security/security_best_practices"
	case page == "schema" && !r.AtLeast(V20250618):
		// These revisions have no schema page; their pages link to this file, in
		// which definitions have no anchors.
		return source + "schema/" + string(r) + "/schema.ts"
	case page != "index":
		address += "/" + strings.TrimSuffix(page, "/index")
	}
	if heading != "" {
		address += "#" + heading
	}
	return address
}

// inherited maps a section of the catalogue to a heading in the specification of JSON-RPC 2.0. The
// text under that heading is missing in MCP's own pages up to 2025-11-25. From 2026-07-28 on, the
// schema page describes these errors itself.
var inherited = map[string]string{
	"basic/index#batching":       "batch",
	"basic/index#responses":      "error_object",
	"schema#internalerror":       "error_object",
	"schema#invalidrequesterror": "error_object",
	"schema#methodnotfounderror": "error_object",
	"schema#parseerror":          "error_object",
}

// sectionIn returns the page and heading in revision r for a section of the
// catalogue.
func sectionIn(section string, r Revision) string {
	for _, m := range moves[section] {
		if m.until.AtLeast(r) {
			return m.to
		}
	}
	page, heading, _ := strings.Cut(section, "#")
	for _, m := range moves[page+"#*"] {
		if m.until.AtLeast(r) {
			return strings.Replace(m.to, "*", heading, 1)
		}
	}
	return section
}

// A movedSection is the location of a section in older revisions.
type movedSection struct {
	until Revision // the newest revision with this location
	to    string   // page, or page#heading; * is replaced by the heading
}

// moves maps a section of the catalogue to its locations in older revisions, oldest first.
// The heading * matches all headings of a page. A location without a heading means that the
// page has no such heading in that revision.
var moves = map[string][]movedSection{
	"basic/index#messages":        {{V20241105, "basic/messages"}},
	"basic/index#requests":        {{V20241105, "basic/messages#requests"}},
	"basic/index#responses":       {{V20241105, "basic/messages#responses"}},
	"basic/index#notifications":   {{V20241105, "basic/messages#notifications"}},
	"basic/index#error-responses": {{V20241105, "basic/messages#responses"}, {V20250618, "basic/index#responses"}},
	"basic/index#meta":            {{V20250326, "schema"}},
	"basic/lifecycle#timeouts":    {{V20241105, "basic/lifecycle"}},

	"basic/patterns/cancellation#*":                     {{V20251125, "basic/utilities/cancellation#*"}},
	"basic/patterns/progress#*":                         {{V20251125, "basic/utilities/progress#*"}},
	"basic/transports/index#messages":                   {{V20251125, "basic/transports"}},
	"basic/transports/index#*":                          {{V20251125, "basic/transports#*"}},
	"basic/transports/stdio":                            {{V20251125, "basic/transports#stdio"}},
	"basic/transports/stdio#shutdown":                   {{V20251125, "basic/lifecycle#stdio"}},
	"basic/transports/stdio#*":                          {{V20251125, "basic/transports#stdio"}},
	"basic/transports/streamable-http":                  {{V20251125, "basic/transports#streamable-http"}},
	"basic/transports/streamable-http#sending-messages": {{V20251125, "basic/transports#sending-messages-to-the-server"}},
	"basic/transports/streamable-http#security-endpoint": {
		{V20251125, "basic/transports#security-warning"}, {V20260728, "basic/transports/streamable-http#security-%26-endpoint"},
	},
	"basic/transports/streamable-http#httpsse-transport-2024-11-05": {{V20251125, "basic/transports#backwards-compatibility"}},

	"basic/authorization/authorization-server-discovery#protected-resource-metadata-discovery-requirements": {
		{V20250326, "basic/authorization"}, {V20250618, "basic/authorization#authorization-server-location"},
	},
	"basic/authorization/authorization-server-discovery#*": {{V20251125, "basic/authorization#*"}},
	"basic/authorization/client-registration#*":            {{V20251125, "basic/authorization#*"}},
	"basic/authorization/security-considerations":          {{V20251125, "basic/authorization#security-considerations"}},
	"basic/authorization/security-considerations#communication-security": {
		{V20250326, "basic/authorization#security-considerations"}, {V20251125, "basic/authorization#communication-security"},
	},
	"basic/authorization/security-considerations#*": {{V20251125, "basic/authorization#*"}},

	"client/elicitation#elicitation-requests": {{V20250618, "client/elicitation#creating-elicitation-requests"}},
	"client/elicitation#error-handling":       {{V20250618, "client/elicitation"}},
	"client/elicitation#form-mode-security":   {{V20250618, "client/elicitation#security-considerations"}},
	"client/elicitation#requested-schema":     {{V20250618, "client/elicitation#request-schema"}},

	"server/prompts#resource-links":              {{V20251125, "server/prompts"}},
	"server/resources#annotations":               {{V20250326, "server/resources"}},
	"server/utilities/completion#error-handling": {{V20241105, "server/utilities/completion"}},

	"index#security-and-trust-safety": {{V20260728, "index#security-and-trust-%26-safety"}},

	"schema#basemetadata":                     {{V20260728, "schema"}},
	"schema#paginatedresult":                  {{V20260728, "schema"}},
	"schema#error":                            {{V20250618, "schema"}},
	"schema#internalerror":                    {{V20251125, "schema"}},
	"schema#invalidrequesterror":              {{V20251125, "schema"}},
	"schema#methodnotfounderror":              {{V20251125, "schema"}},
	"schema#parseerror":                       {{V20251125, "schema"}},
	"schema#paginatedrequestparams":           {{V20251125, "schema"}},
	"schema#calltoolrequestparams":            {{V20250618, "schema#calltoolrequest"}},
	"schema#completerequestparams":            {{V20250618, "schema#completerequest"}},
	"schema#createmessagerequestparams":       {{V20250618, "schema#createmessagerequest"}},
	"schema#elicitrequestparams":              {{V20250618, "schema#elicitrequest"}},
	"schema#getpromptrequestparams":           {{V20250618, "schema#getpromptrequest"}},
	"schema#loggingmessagenotificationparams": {{V20250618, "schema#loggingmessagenotification"}},
	"schema#readresourcerequestparams":        {{V20250618, "schema#readresourcerequest"}},
	"schema#setlevelrequestparams":            {{V20250618, "schema#setlevelrequest"}},
}
