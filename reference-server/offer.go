package refserver

import (
	"sync"

	"golang.org/x/time/rate"
)

// An offer holds the state of what the server offers: its lists, the text of the note, and the
// subscribers. Each session of a handshake revision has its own offer. Requests of stateless
// revisions share one for the whole process, because lists must not depend on the connection.
type offer struct {
	numbered []*resource   // for a long list of resources
	limiter  *rate.Limiter // nil means no limit

	subscribers subscribers // used only in stateless revisions

	mu         sync.Mutex
	showsExtra map[string]bool // lists that currently include their extra item
	note       string          // text of noteURI
}

func newOffer(o Options) *offer {
	return &offer{
		numbered:   numberedResources(o.LongList),
		limiter:    newRateLimiter(o.RateLimit),
		showsExtra: map[string]bool{},
		note:       "This text can be changed by the update-resource tool.",
	}
}

// sibling returns a new offer that shares the long list of resources with f.
func (f *offer) sibling(o Options) *offer {
	o.LongList = 0
	other := newOffer(o)
	other.numbered = f.numbered
	return other
}

// offer returns the offer that the call uses.
func (c *Call) offer() *offer {
	if c.isStateless() {
		return c.Session.shared
	}
	return c.Session.own
}

// toggleExtra shows or hides the extra item of a list.
func (f *offer) toggleExtra(list string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.showsExtra[list] = !f.showsExtra[list]
}

// showsExtraItem reports whether a list currently includes its extra item.
func (f *offer) showsExtraItem(list string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.showsExtra[list]
}

func (f *offer) setNote(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note = text
}

func (f *offer) noteText() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.note
}
