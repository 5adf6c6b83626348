package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// Stale is an entry of a baseline that has become untrue.
type Stale struct {
	Requirement string         `json:"requirement"`
	Revision    spec.Revision  `json:"revision,omitempty"`  // where the entry names one
	Transport   spec.Transport `json:"transport,omitempty"` // where the entry names one
	Line        int            `json:"line"`                // in the baseline's file, from 1
	Why         string         `json:"why"`
}

// UnmarshalText reads the name of an outcome, as MarshalText writes it.
func (o *Outcome) UnmarshalText(text []byte) error {
	i := slices.Index(outcomeNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("there is no verdict %q: known are %s", text, strings.Join(outcomeNames[:], ", "))
	}
	*o = Outcome(i)
	return nil
}
