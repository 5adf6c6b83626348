package verdict

// Confirmed returns what a deviation of outcome o comes to that was tried that
// often and came back again so many times, where it has to come back at least as
// often as needed. What always came back and was not tried often enough is
// unconfirmed, what did not come back is flaky.
func (o Outcome) Confirmed(tries, again, needed int) Outcome {
	switch {
	case again >= needed:
		return o
	case again == tries:
		return Unconfirmed
	default:
		return Flaky
	}
}
