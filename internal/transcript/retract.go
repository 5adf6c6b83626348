package transcript

// Retract replaces the events of an exchange with remarks, the first of which has the text. Callers
// use it for a request that is sent again because the server refused it, for its rate limit or for
// a token without the necessary scopes. The transcript may drop the refused attempt because the
// attempt had no effect on the session.
func (t *Transcript) Retract(exchange int, text string) {
	defer t.lockToChange()()
	var freed int64
	for i, e := range t.events {
		if e.Exchange != exchange {
			continue
		}
		t.events[i] = &Event{Seq: i, At: e.At, Kind: Remark, Detail: text}
		freed += eventWeight(e)
		text = "part of the request that was refused"
	}
	t.retracted++
	t.held -= freed
	t.budget.addHeld(-freed)
}

// CountRetracted returns how many exchanges were retracted.
func (t *Transcript) CountRetracted() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.retracted
}
