package verdict

// MaxAttempts is the default number of attempts to reproduce a deviation. If none of them succeeds,
// the deviation is flaky.
const MaxAttempts = 3

// Retries count the retries of a deviation, each alone on a fresh server. They decide whether to
// retry it again, and whether it is confirmed. The zero value is ready for use.
type Retries struct {
	// Limit is the maximum number of attempts, or 0 for MaxAttempts.
	Limit int
	// EachTime means that every attempt must reproduce the deviation. Otherwise one is enough.
	EachTime bool
	// CountAll means that all attempts are made, even if fewer would confirm the deviation, because
	// their number is reported.
	CountAll bool

	Attempts   int // the number of retries, without the void ones
	Reproduced int // attempts that reproduced the deviation
	Void       int // retries in which no fresh server started; they do not count as attempts

	// earlier and earlierVoid count the attempts and the void retries before the last call of
	// Extend or InOtherCase. They did not confirm the deviation.
	earlier, earlierVoid int
	isElsewhere          bool // the attempts are in another case, where one is enough
}

// Record records an attempt.
func (r *Retries) Record(reproduced bool) {
	r.Attempts++
	if reproduced {
		r.Reproduced++
	}
}

// Done reports whether no further attempt is needed.
func (r *Retries) Done() bool {
	switch attempts := r.Attempts - r.earlier; {
	case attempts >= r.limit(), r.Void-r.earlierVoid >= r.limit():
		return true
	case attempts == 0, r.CountAll:
		return false
	case r.EachTime:
		return r.Reproduced < attempts
	case r.isElsewhere:
		return true
	default:
		return r.Reproduced > 0
	}
}

// Conclude returns the outcome of a deviation after its retries. It returns the given outcome if
// the deviation is confirmed. It returns Unconfirmed if there was no attempt, or if every attempt
// reproduced the deviation but there were too few. It returns Flaky if no attempt reproduced the
// deviation, or if EachTime is set and some did not.
func (r *Retries) Conclude(confirmed Outcome) Outcome {
	needed := 1
	if r.EachTime {
		needed = r.limit()
	}
	switch {
	case r.Reproduced >= needed:
		return confirmed
	case r.Reproduced == r.Attempts:
		return Unconfirmed
	default:
		return Flaky
	}
}

// InOtherCase returns new Retries for the same deviation in another case in which it was seen. They
// include the attempts of r, but not their results.
func (r *Retries) InOtherCase() Retries {
	return Retries{Attempts: r.Attempts, earlier: r.Attempts, isElsewhere: true}
}

// AddOtherCase adds the result of retries in another case. other must come from r.InOtherCase, so
// that it already counts the attempts of r.
func (r *Retries) AddOtherCase(other Retries) {
	r.Attempts, r.Reproduced, r.Void = other.Attempts, r.Reproduced+other.Reproduced, r.Void+other.Void
}

// Extend allows the maximum number of attempts once more, for a caller that changes the
// circumstances, such as by running other cases concurrently. One attempt that reproduces the
// deviation is then enough.
func (r *Retries) Extend() {
	r.EachTime, r.earlier, r.earlierVoid, r.isElsewhere = false, r.Attempts, r.Void, false
}

// AttemptsUntilFixed returns how many attempts in a row must not reproduce the deviation before it
// counts as fixed. The number is higher for a deviation that was flaky before.
func (r *Retries) AttemptsUntilFixed() int {
	switch {
	case r.Attempts > 0 && r.Reproduced >= r.Attempts:
		return MaxAttempts
	case r.Reproduced > 0:
		return 10
	default:
		return 20
	}
}

func (r *Retries) limit() int {
	if r.Limit > 0 {
		return r.Limit
	}
	return MaxAttempts
}
