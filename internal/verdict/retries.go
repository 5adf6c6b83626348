package verdict

// MaxAttempts is the number of attempts after which a deviation that none of them reproduced is
// flaky, unless Retries.Limit sets another.
const MaxAttempts = 3

// Retries are the retries of a deviation, each alone on a fresh server. They decide how often it is
// retried, and whether it is then confirmed. The zero value is ready for use.
type Retries struct {
	// Limit is the most attempts, or 0 for MaxAttempts.
	Limit int
	// EachTime means that every attempt must reproduce the deviation. Otherwise one is enough.
	EachTime bool
	// CountAll means that all attempts are made, even if fewer would confirm the deviation, because
	// their number is reported.
	CountAll bool

	Attempts   int // retries that count
	Reproduced int // attempts that reproduced it
	Void       int // retries in which no fresh server started: they are no attempts

	// earlier and earlierVoid count the attempts and the void retries in other circumstances, which
	// did not confirm the deviation.
	earlier, earlierVoid int
	isElsewhere          bool // the circumstances are another case: one attempt there is enough
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

// Conclude returns the outcome of a deviation after its retries: the given one if it is confirmed,
// Unconfirmed if every attempt reproduced it but there were too few, and Flaky if no attempt
// reproduced it, or if all had to and some did not.
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

// Elsewhere returns the retries of the same deviation in another case in which it was seen.
func (r *Retries) Elsewhere() Retries {
	return Retries{Attempts: r.Attempts, earlier: r.Attempts, isElsewhere: true}
}

// AddElsewhere adds the result of retries in another case. The caller got other from r.Elsewhere(),
// so that it counts the attempts of r already.
func (r *Retries) AddElsewhere(other Retries) {
	r.Attempts, r.Reproduced, r.Void = other.Attempts, r.Reproduced+other.Reproduced, r.Void+other.Void
}

// Extend begins further attempts in other circumstances, as many as before. One that reproduces the
// deviation is enough.
func (r *Retries) Extend() {
	r.EachTime, r.earlier, r.earlierVoid, r.isElsewhere = false, r.Attempts, r.Void, false
}

// FixedAfter returns the number of attempts without a recurrence after which the deviation counts
// as fixed. It is higher for a deviation that was flaky before.
func (r *Retries) FixedAfter() int {
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
