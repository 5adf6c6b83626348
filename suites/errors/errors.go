// Package errors checks what a server says to requests that it can't serve
// and to lines that are no messages at all.
package errors

import "github.com/mcp-conform/mcp-conform/internal/suite"

// Cases returns the cases of the area errors.
func Cases() []suite.Case {
	return []suite.Case{
		unknownMethods(),
		invalidParams(),
		invalidInitialize(),
		malformed(),
		many(),
	}
}
