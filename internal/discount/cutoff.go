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

// cutoffs counts the requests that got an answer over HTTP, and those of which
// the connection broke before it was whole. One that breaks now and then is the
// network's; where all of one method break, the user should know.
type cutoffs map[string]*cutoff

type cutoff struct{ broke, other int }

// manyCutoffs is how many connections have to break, and none to do otherwise.
const manyCutoffs = 3

// observe counts what became of the requests of one conversation, except those
// whose connection the client closed.
func (c cutoffs) observe(conv Conversation) {
	for _, x := range conv.Dialogue.Exchanges().All() {
		if x.Sent == nil || x.End == nil || x.Ended() != transcript.Broken && x.Ended() != transcript.Complete {
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
		if x.Ended() == transcript.Broken {
			of.broke++
		} else {
			of.other++
		}
	}
}

// notice says of which methods every request broke, "" where there is none, or
// where there is no other, as when the server is gone.
func (c cutoffs) notice() string {
	var said []string
	whole := 0
	for _, method := range slices.SortedFunc(maps.Keys(c), cmp.Compare) {
		of := c[method]
		whole += of.other
		if of.broke >= manyCutoffs && of.other == 0 {
			said = append(said, fmt.Sprintf("none of %d %s requests got a whole answer: the connection broke each time", of.broke, method))
		}
	}
	if whole == 0 {
		return ""
	}
	return strings.Join(said, "; ")
}
