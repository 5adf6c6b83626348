package suite

import "strings"

// Endings is a set of ways in which a request may end.
type Endings uint8

// How a request may end. Two responses are never permitted.
const (
	Result  Endings = 1 << iota // one result
	Refusal                     // one error
	Silence                     // no response

	Answer = Result | Refusal
	Any    = Answer | Silence
)

// Permits reports whether ending, one of the constants, is in the set.
func (f Endings) Permits(ending Endings) bool { return f&ending == ending }

// String lists the endings of the set in words.
func (f Endings) String() string {
	var words []string
	for _, w := range []struct {
		ending Endings
		word   string
	}{{Result, "a result"}, {Refusal, "an error"}, {Silence, "no answer"}} {
		if f.Permits(w.ending) {
			words = append(words, w.word)
		}
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// A Race is an order in which a cancellation and other messages may cross, and the set of its
// permitted outcomes. In all of them the cancellation itself gets no response, no request gets two
// responses, and the server continues.
type Race struct {
	// Name says what is cancelled, and when.
	Name string
	// Cancelled is how the request that the cancellation names may end; 0 if the
	// cancellation names none. Others is how every other request may end; 0 if
	// there is no other.
	Cancelled, Others Endings
	// ClientForbidden reports whether a client must not do this, so that a
	// deviation is a note at most.
	ClientForbidden bool
}

// Outcomes describes the permitted outcomes in words.
func (r Race) Outcomes() []string {
	var out []string
	if r.Cancelled != 0 {
		out = append(out, "the cancelled request: "+r.Cancelled.String())
	}
	if r.Others != 0 {
		out = append(out, "every other request: "+r.Others.String())
	}
	if r.ClientForbidden {
		out = append(out, "anything else is only a note, because no client may do this")
	}
	return out
}
