package transcript

import (
	"slices"
	"sync"
)

// A growingDialogue is the dialogue of a transcript that still grows. It pairs each message only
// once, however often the dialogue is read.
type growingDialogue struct {
	mu       sync.Mutex // locked before Transcript.mu
	dialogue *Dialogue
	noted    int // the number of events in the dialogue
}

// Dialogue returns the dialogue of the events so far, for callers that keep it. ReadDialogue is
// cheaper for callers that do not.
func (t *Transcript) Dialogue() *Dialogue { return DialogueOf(t.From(0)) }

// ReadDialogue calls read with the dialogue of the events so far. read must not keep the dialogue,
// and must not call ReadDialogue or HasRequest.
func (t *Transcript) ReadDialogue(read func(*Dialogue)) {
	g := &t.dialogue
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dialogue == nil {
		g.dialogue = &Dialogue{}
	}
	events := t.From(g.noted)
	for _, e := range events {
		g.dialogue.Note(e)
	}
	g.noted += len(events)
	read(g.dialogue)
}

// lockToChange locks the transcript for a change of earlier events. It drops the dialogue, which
// refers to those events; the next ReadDialogue builds it again.
func (t *Transcript) lockToChange() (unlock func()) {
	g := &t.dialogue
	g.mu.Lock()
	g.dialogue, g.noted = nil, 0
	t.mu.Lock()
	return func() {
		t.mu.Unlock()
		g.mu.Unlock()
	}
}

// HasRequest reports whether the client sent a request for which matches returns true.
func (t *Transcript) HasRequest(matches func(*Request) bool) (has bool) {
	t.ReadDialogue(func(d *Dialogue) { has = slices.ContainsFunc(d.Requests(), matches) })
	return has
}
