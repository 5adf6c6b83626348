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

// tokenOf returns the progress token of a request as it is on the wire; absent if it requests no
// progress.
func tokenOf(m *wire.Message) wire.ID {
	return m.ParamIDAt("/_meta/progressToken")
}

// namedToken returns the token of a progress notification; absent if there is no valid one, which
// another rule reports.
func namedToken(m *wire.Message) wire.ID {
	token := m.ParamIDAt("/progressToken")
	if !token.IsString() && !token.IsInteger() {
		return wire.ID{}
	}
	return token
}

// tokenRequests are the requests with progress tokens, oldest first.
type tokenRequests struct {
	byKey map[string][]*rules.Request
	alike map[string][]*rules.Request // by normalized token
}

func newTokenRequests() *tokenRequests {
	return &tokenRequests{byKey: map[string][]*rules.Request{}, alike: map[string][]*rules.Request{}}
}

func (g *tokenRequests) note(req *rules.Request) {
	token := tokenOf(req.Message)
	if !token.IsPresent() {
		return
	}
	g.byKey[token.Key()] = append(withoutAnswered(g.byKey[token.Key()]), req)
	g.alike[normalizeToken(token)] = append(withoutAnswered(g.alike[normalizeToken(token)]), req)
}

// keptRequests bounds the requests that are kept for one token: when there are this many, the
// answered ones are dropped. A client may use one token for all its requests.
const keptRequests = 32

// withoutAnswered drops the answered requests if there are keptRequests or more.
func withoutAnswered(all []*rules.Request) []*rules.Request {
	if len(all) < keptRequests {
		return all
	}
	return slices.DeleteFunc(all, func(req *rules.Request) bool { return len(req.Responses) > 0 })
}

// withToken returns the requests with this token.
func (g *tokenRequests) withToken(token wire.ID) []*rules.Request { return g.byKey[token.Key()] }

// onlyPossibleRequest returns the only open request that the token can mean: no other open request
// has a similar token, and the token of that request is exactly this one. Otherwise it returns nil.
func (g *tokenRequests) onlyPossibleRequest(token wire.ID) *rules.Request {
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

// similarRequest returns the newest request whose token a server could have turned into the given
// one by mistake, or nil.
func (g *tokenRequests) similarRequest(token wire.ID) *rules.Request {
	all := g.alike[normalizeToken(token)]
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// normalizeToken returns a token without differences in type, case, surrounding blanks and number
// format.
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
