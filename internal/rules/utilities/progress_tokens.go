package utilities

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// tokenOf returns the progress token of a request, as it stands on the wire;
// absent where it asks for no progress.
func tokenOf(m *wire.Message) wire.ID {
	return wire.IDAt(m.Params(), "/_meta/progressToken")
}

// namedToken returns the token of a progress notification; absent where there
// is none that a token can be, which is said elsewhere.
func namedToken(m *wire.Message) wire.ID {
	token := wire.IDAt(m.Params(), "/progressToken")
	if !token.IsString() && !token.IsInteger() {
		return wire.ID{}
	}
	return token
}

// tokenRequests are the requests that gave tokens, oldest first.
type tokenRequests struct {
	byKey map[string][]*rules.Request
	alike map[string][]*rules.Request // by what is left of a token when types are mixed up
}

func newTokenRequests() *tokenRequests {
	return &tokenRequests{byKey: map[string][]*rules.Request{}, alike: map[string][]*rules.Request{}}
}

func (g *tokenRequests) note(req *rules.Request) {
	token := tokenOf(req.Message)
	if !token.Present() {
		return
	}
	g.byKey[token.Key()] = append(withoutAnswered(g.byKey[token.Key()]), req)
	g.alike[normalizeToken(token)] = append(withoutAnswered(g.alike[normalizeToken(token)]), req)
}

// many is how many requests with one token are kept, unless more of them are
// open: a client may well use one token for all its requests.
const many = 32

// withoutAnswered drops answered requests where there are many.
func withoutAnswered(all []*rules.Request) []*rules.Request {
	if len(all) < many {
		return all
	}
	return slices.DeleteFunc(all, func(req *rules.Request) bool { return len(req.Responses) > 0 })
}

// of returns the requests that gave this token.
func (g *tokenRequests) of(token wire.ID) []*rules.Request { return g.byKey[token.Key()] }

// onlyPossible returns the one request that can be meant by the token: those that gave
// one like it are answered. It is nil where there are several, or none.
func (g *tokenRequests) onlyPossible(token wire.ID) *rules.Request {
	var open *rules.Request
	for _, req := range g.alike[normalizeToken(token)] {
		switch {
		case len(req.Responses) > 0:
		case open != nil || !tokenOf(req.Message).Same(token):
			return nil
		default:
			open = req
		}
	}
	return open
}

// similar returns the newest request whose token the given one was made from by
// mistake, or nil.
func (g *tokenRequests) similar(token wire.ID) *rules.Request {
	all := g.alike[normalizeToken(token)]
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// normalizeToken returns what types, cases, blanks and doubles leave of a token.
func normalizeToken(token wire.ID) string {
	text, ok := wire.Text(jsontext.Value(token.Raw()))
	if !ok {
		text = token.Raw()
	}
	text = strings.ToLower(strings.TrimSpace(text))
	if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return text
}
