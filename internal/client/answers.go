package client

import (
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Answers reply to the requests of a server; the replies may change during the
// conversation. Use the method Answer as Options.Answer. Requests for which Set was
// not called get the replies that fit the client's capabilities. All methods may be
// called from any goroutine.
type Answers struct {
	capabilities map[string]any

	mu  sync.Mutex
	own map[string]func(request *wire.Message) []byte
}

// NewAnswers returns the answers of a client that declared the capabilities.
func NewAnswers(capabilities map[string]any) *Answers {
	return &Answers{capabilities: capabilities, own: map[string]func(*wire.Message) []byte{}}
}

// Set makes f reply to requests for the method from now on; a nil f restores the
// default. The bytes that f returns are sent; nil leaves the request unanswered.
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
