package suite

import "strings"

// Fates is a set of what may become of a request.
type Fates uint8

// What may become of a request. That it is answered twice never may.
const (
	Result  Fates = 1 << iota // one result
	Refusal                   // one error
	Silence                   // no answer

	Answer = Result | Refusal
	Any    = Answer | Silence
)

// Permits reports whether fate, one of the constants, is in the set.
func (f Fates) Permits(fate Fates) bool { return f&fate == fate }

// String lists the set in words.
func (f Fates) String() string {
	var words []string
	for _, w := range []struct {
		fate Fates
		word string
	}{{Result, "a result"}, {Refusal, "an error"}, {Silence, "no answer"}} {
		if f.Permits(w.fate) {
			words = append(words, w.word)
		}
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// Race is an order in which a cancellation and other messages may cross, and
// the set of what may come of it. In all of them the cancellation itself has no
// answer, no request has two, and the server goes on.
type Race struct {
	// Name says what is cancelled, and when.
	Name string
	// Cancelled is what may become of the request that the cancellation names,
	// 0 where it names none; Others, of every other request, 0 where there is
	// none.
	Cancelled, Others Fates
	// Gently: a client must not do this, so that the worst is a note.
	Gently bool
}

// Outcomes says in words what may come of it.
func (r Race) Outcomes() []string {
	var out []string
	if r.Cancelled != 0 {
		out = append(out, "the cancelled request: "+r.Cancelled.String())
	}
	if r.Others != 0 {
		out = append(out, "every other request: "+r.Others.String())
	}
	if r.Gently {
		out = append(out, "all else is noted, as no client may do this")
	}
	return out
}
