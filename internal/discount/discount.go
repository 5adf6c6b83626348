// Package discount lists the reasons for which an observation does not count against the server.
//
// A client's request without a response is a finding, unless a discount applies. One table of
// discounts is for JSON-RPC requests over any transport, and one for HTTP requests. A third table,
// in Run, uses observations of the whole run: it may void a deviation of a rule, of a case or of
// the fuzzer, or require that every attempt reproduces it. Run also returns notices: observations
// that explain no deviation, but that the user should know about.
package discount

import (
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// ExchangeFacts describe an HTTP request after its conversation has ended. The
// zero value is a request that got no response.
type ExchangeFacts struct {
	// Method is the method of the HTTP request.
	Method string
	// Status is the status of the response, or 0 if none came.
	Status int
	// Partial is set if a response began, but its body ended before its announced length or could
	// not be read.
	Partial bool
	// Ended is how the exchange ended, or "" if the transcript ends before that.
	Ended transcript.How
	// Size is the number of bytes in the body of the request.
	Size int64
	// Waited is set if the client waited for a response until the timeout.
	Waited bool
	// ServerEnded is set if, by the end of the conversation, the server had ended or the client had
	// begun to stop it.
	ServerEnded bool
	// Judged is set if a JSON-RPC request in the body has no response although one was due; that is
	// judged separately.
	Judged bool
	// AnsweredElsewhere is set if all JSON-RPC requests in the body have responses. If the HTTP
	// request got no response, they came on another stream.
	AnsweredElsewhere bool
	// Withdrawn is set if the client cancelled a JSON-RPC request in the body, and the connection
	// had not broken before that.
	Withdrawn bool
	// SessionOver is set if the session of the request had ended, or was
	// about to end.
	SessionOver bool
}

// isIncomplete reports whether no response came, or only a part of one.
func (f ExchangeFacts) isIncomplete() bool { return f.Status == 0 || f.Partial }

// A Discount is one reason why an observation does not count.
type Discount struct {
	// ID is stable, and consists of words joined by hyphens.
	ID string
	// Reason completes "does not count: ".
	Reason string
}

// A row is a discount with its condition on facts of type F.
type row[F any] struct {
	Discount
	applies func(F) bool
}

// firstApplicable returns the discount of the first row whose condition holds for f, or nil.
func firstApplicable[F any](table []row[F], f F) *Discount {
	for i := range table {
		if table[i].applies(f) {
			return &table[i].Discount
		}
	}
	return nil
}

// ForExchange returns the first discount that applies to an HTTP request, or nil.
func ForExchange(f ExchangeFacts) *Discount { return firstApplicable(exchangeRows, f) }
