package rules

// Shared is state that several rules read of one conversation, such as the
// lists that the server gave. It is kept once for all of them: a list may be
// megabytes.
type Shared[T any] struct {
	// Start returns the state of a conversation in which nothing was said, and
	// what keeps it. A message is heard by before, then by the rules, then by
	// after; both are called without an Out, and may be nil.
	Start func() (state T, before, after Handlers)
}

// SharedState is a Shared of any type.
type SharedState interface {
	// start begins to keep the state for a session. It returns nothing to hear
	// where that was done before.
	start(s *Session) (before, after Handlers)
}

func (k *Shared[T]) start(s *Session) (before, after Handlers) {
	if _, kept := s.shared[k]; kept {
		return nil, nil
	}
	state, before, after := k.Start()
	if s.shared == nil {
		s.shared = map[SharedState]any{}
	}
	s.shared[k] = state
	return before, after
}

// Of returns the state of a session. The rule that asks must list k under
// Fold.Reads, or it panics.
func (k *Shared[T]) Of(s *Session) T { return s.shared[k].(T) }
