package discount

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// cutoffs counts, by method, the HTTP requests that got a complete response, and
// those whose connection broke before that. Occasional breaks may be due to the
// network. If the connection breaks at every request of a method, the user
// should know.
type cutoffs map[string]*cutoff

// A cutoff counts the requests of one method: those whose connection broke, and those with a
// complete response.
type cutoff struct{ broke, complete int }

// manyCutoffs is the minimum number of broken connections at requests of one method for notice to
// list the method.
const manyCutoffs = 3

// observe counts how the requests of one conversation ended, except those whose
// connection the client closed.
func (c cutoffs) observe(conv Conversation) {
	for _, x := range conv.Dialogue.Exchanges().All() {
		if x.Sent == nil || x.End == nil || x.HowEnded() != transcript.Broken && x.HowEnded() != transcript.Complete {
			continue
		}
		messages := x.Sent.Messages()
		if len(messages) != 1 || messages[0].Kind != wire.Request {
			continue
		}
		of := c[messages[0].Method]
		if of == nil {
			of = &cutoff{}
			c[messages[0].Method] = of
		}
		if x.HowEnded() == transcript.Broken {
			of.broke++
		} else {
			of.complete++
		}
	}
}

// notice lists the methods none of whose requests got a complete response, if at least manyCutoffs
// connections broke. It returns "" if there are no such methods, or if no request of any method got
// a complete response, as when the server has ended.
func (c cutoffs) notice() string {
	var said []string
	whole := 0
	for _, method := range slices.SortedFunc(maps.Keys(c), cmp.Compare) {
		of := c[method]
		whole += of.complete
		if of.broke >= manyCutoffs && of.complete == 0 {
			said = append(said, fmt.Sprintf("none of %d %s requests got a complete response: the connection broke each time", of.broke, method))
		}
	}
	if whole == 0 {
		return ""
	}
	return strings.Join(said, "; ")
}
