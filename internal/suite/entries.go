package suite

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// EntryName returns the member that identifies an entry of a list: its URI or, if it has none, its
// name. It returns nil if the entry has neither member.
func EntryName(entry jsontext.Value) jsontext.Value {
	if uri := wire.At(entry, "/uri"); uri != nil {
		return uri
	}
	return wire.At(entry, "/name")
}
