package rules

// Shared is state that several rules read, such as the server's lists. It is kept only once for
// each conversation, because a list may be megabytes.
type Shared[T any] struct {
	// Start returns the state of an empty conversation, and the handlers that update it. The
	// handlers in before see a message before the rules do, those in after see it after them.
	// They are called without a Reporter, and may be nil.
	Start func() (state T, before, after Handlers)
}

// SharedState is a Shared of any type.
type SharedState interface {
	// start begins to keep the state for a session. It returns no handlers if that was done
	// before.
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

// Of returns the state of a session. It panics unless the calling rule lists k in Fold.Shared.
func (k *Shared[T]) Of(s *Session) T { return s.cache.shared[k].(T) }
