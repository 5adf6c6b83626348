package rules

// Shared is state that several rules read, such as the server's lists. It is kept only once for
// each conversation, because a list may be megabytes.
type Shared[T any] struct {
	// Start returns the state of an empty conversation, and two sets of handlers that update it. For
	// each message, the first set is called before the rules, and the second set after them. Either
	// set may be nil. The handlers are called without a Reporter.
	Start func() (state T, before, after Handlers)
}

// SharedState is a Shared of any type.
type SharedState interface {
	// start creates the state for a session. It returns no handlers if the session already has the
	// state.
	start(s *Session) (before, after Handlers)
}

func (k *Shared[T]) start(s *Session) (before, after Handlers) {
	if _, kept := s.cache.shared[k]; kept {
		return nil, nil
	}
	state, before, after := k.Start()
	if s.cache.shared == nil {
		s.cache.shared = map[SharedState]any{}
	}
	s.cache.shared[k] = state
	return before, after
}

// Of returns the state of a session. The calling rule must list k in its Fold.Shared; otherwise Of
// may panic.
func (k *Shared[T]) Of(s *Session) T { return s.cache.shared[k].(T) }
