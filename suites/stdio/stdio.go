// Package stdio checks what is specific to servers over stdio: framing by newlines, and how they
// end.
package stdio

import "github.com/mcp-conform/mcp-conform/internal/suite"

// Cases returns the cases of the area stdio.
func Cases() []suite.Case {
	return []suite.Case{
		framingCase(),
		closedStdinCase(),
		closedMidworkCase(),
		signalCase(),
		interruptCase(),
	}
}
