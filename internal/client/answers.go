package client

import (
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Answers reply to the requests of a server in ways that may change while the
// conversation goes on. Its Answer is for Options.Answer; what nothing was set
// for is answered as the capabilities say. Its methods may be called from any
// goroutine.
type Answers struct {
	capabilities map[string]any

	mu  sync.Mutex
	own map[string]func(request *wire.Message) []byte
}

// NewAnswers returns the answers of a client that declared the capabilities.
func NewAnswers(capabilities map[string]any) *Answers {
	return &Answers{capabilities: capabilities, own: map[string]func(*wire.Message) []byte{}}
}

// Set has requests for the method answered by f from now on, and by the
// capabilities again where f is nil. The bytes that f returns are sent; nil
// leaves the request unanswered.
func (a *Answers) Set(method string, f func(request *wire.Message) []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.own[method] = f
}

// Answer replies to one request.
func (a *Answers) Answer(m *wire.Message) []byte {
	a.mu.Lock()
	f := a.own[m.Method]
	a.mu.Unlock()
	if f == nil {
		return respond(m, a.capabilities)
	}
	return f(m)
}
