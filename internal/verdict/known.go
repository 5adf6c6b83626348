package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// A StaleEntry is an entry of a baseline that no longer applies.
type StaleEntry struct {
	Requirement string         `json:"requirement"`
	Revision    spec.Revision  `json:"revision,omitempty"`  // "" if the entry names none
	Transport   spec.Transport `json:"transport,omitempty"` // "" if the entry names none
	Line        int            `json:"line"`                // in the baseline's file, from 1
	Why         string         `json:"why"`
}

// UnmarshalText parses the name of an outcome, as written by MarshalText.
func (o *Outcome) UnmarshalText(text []byte) error {
	i := slices.Index(outcomeNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("there is no verdict %q: known: %s", text, strings.Join(outcomeNames[:], ", "))
	}
	*o = Outcome(i)
	return nil
}
