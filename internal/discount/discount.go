// Package discount lists the reasons for which a request without an ordinary
// response does not count against the server.
//
// Everything that a client sends has to be accounted for: it got a response,
// or a discount applies, or it is a finding. There is nothing between: what no
// discount explains is reported. One table is for JSON-RPC requests, over any
// transport, and one for HTTP requests. A third, Run, is for what a whole run meets: it may make a
// deviation void, or have it come back each time before it counts.
package discount

import (
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// ExchangeFacts describe an HTTP request after its conversation has ended. The
// zero value is a request that got no response.
type ExchangeFacts struct {
	// Method is that of the HTTP request.
	Method string
	// Status is that of the response, 0 where none came.
	Status int
	// Partial: the response came, but its body ended before its announced end,
	// or could not be read.
	Partial bool
	// Ended is how the exchange ended, "" where the record ends before it.
	Ended transcript.How
	// Size is the number of bytes in the body of the request.
	Size int64
	// Waited: the client waited as long as a response may take.
	Waited bool
	// ServerEnded: the server had ended, or was asked to.
	ServerEnded bool
	// Judged: the JSON-RPC requests in the body have no response, and that is
	// judged there.
	Judged bool
	// Elsewhere: the JSON-RPC responses came on another stream.
	Elsewhere bool
	// Withdrawn: the client cancelled what it had requested.
	Withdrawn bool
	// SessionOver: the session of the request had ended, or was about to.
	SessionOver bool
}

// incomplete reports whether no response came, or only a part of one.
func (f ExchangeFacts) incomplete() bool { return f.Status == 0 || f.Partial }

// A Discount is one reason for which something does not count.
type Discount struct {
	// ID is made of words, and stable.
	ID string
	// Reason completes "does not count: ".
	Reason string
}

// row is a discount and when it applies to facts of type F.
type row[F any] struct {
	Discount
	applies func(F) bool
}

// firstApplicable returns the discount of the first row that applies, or nil.
func firstApplicable[F any](table []row[F], f F) *Discount {
	for i := range table {
		if table[i].applies(f) {
			return &table[i].Discount
		}
	}
	return nil
}

// IsIntermediary reports whether a response with this status may come from
// something in front of the server, or depends on the client or the request
// rate.
func IsIntermediary(status int) bool {
	switch status {
	case 401, 402, 403, 407, 421, 429, 502, 503, 504:
		return true
	}
	return false
}

// ForExchange returns the first discount that applies to an HTTP request, or nil.
func ForExchange(f ExchangeFacts) *Discount { return firstApplicable(exchanges, f) }
