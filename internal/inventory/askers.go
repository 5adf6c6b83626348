package inventory

import (
	"regexp"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Topic is a feature of the client that a tool may use.
type Topic string

// The topics.
const (
	AsksSampling    Topic = "sampling"
	AsksElicitation Topic = "elicitation"
	AsksRoots       Topic = "roots"
)

// telling are the words by which names and descriptions of tools speak of a
// topic. A tool that is taken for an asker wrongly costs one call.
var telling = map[Topic]*regexp.Regexp{
	AsksSampling:    regexp.MustCompile(`(?i)sampling|sample[-_ ]?llm|create_?message|\bllms?\b|ask[-_ ]?(the )?(model|client)`),
	AsksElicitation: regexp.MustCompile(`(?i)elicit|ask[-_s ]*(the )?user`),
	AsksRoots:       regexp.MustCompile(`(?i)\broots?\b|[-_]roots?\b|roots?[-_]`),
}

// Askers returns the tools that may be called, and by their names or
// descriptions seem to ask something of the client: those first whose names
// say so.
func (v *Inventory) Askers(topic Topic) []Tool {
	var named, described []Tool
	for _, t := range v.Callable() {
		description, _ := wire.Text(wire.At(t.Raw, "/description"))
		switch re := telling[topic]; {
		case re.MatchString(t.Name):
			named = append(named, t)
		case re.MatchString(description):
			described = append(described, t)
		}
	}
	return slices.Concat(named, described)
}
