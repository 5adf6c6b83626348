package verdict

// Confirmed returns the outcome of a deviation with outcome o that was reproduced
// in some of its attempts: o if it was reproduced as often as needed, Unconfirmed if
// it was reproduced in every attempt but there were too few, else Flaky.
func (o Outcome) Confirmed(attempts, reproduced, needed int) Outcome {
	switch {
	case reproduced >= needed:
		return o
	case reproduced == attempts:
		return Unconfirmed
	default:
		return Flaky
	}
}
