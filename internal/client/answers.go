package client

import (
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Answers holds a client's replies to the requests of a server. The replies may change during the
// conversation. Use the method Answer as Options.Answer. If Set was not called for a method,
// requests for it get the default reply, which follows from the client's capabilities. All methods
// may be called from any goroutine.
type Answers struct {
	capabilities map[string]any

	mu  sync.Mutex
	own map[string]func(request *wire.Message) []byte
}

// NewAnswers returns the default answers of a client that declared the capabilities.
func NewAnswers(capabilities map[string]any) *Answers {
	return &Answers{capabilities: capabilities, own: map[string]func(*wire.Message) []byte{}}
}

// Set makes f reply to requests for the method from now on; a nil f restores the default reply. The
// client sends the bytes that f returns; if f returns nil, the request gets no response.
func (a *Answers) Set(method string, f func(request *wire.Message) []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.own[method] = f
}

// Answer returns the response to the request m, or nil to send none.
func (a *Answers) Answer(m *wire.Message) []byte {
	a.mu.Lock()
	f := a.own[m.Method]
	a.mu.Unlock()
	if f == nil {
		return respond(m, a.capabilities)
	}
	return f(m)
}
