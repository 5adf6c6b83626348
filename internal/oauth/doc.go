// Package oauth reads what a protected MCP server says about its authorization: the challenges
// of its refusals, and the metadata documents of the resource and of its authorization servers
// (MCP, basic/authorization; RFC 9110, RFC 6750, RFC 8414, RFC 9728). It sends nothing.
package oauth
