package transcript

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/redact"
)

// A TokenRefusal is an exchange in which the server refused a bearer token with status 401, although
// it later served a request with that token.
type TokenRefusal struct {
	Refused, Served *Exchange
	// Equal is set if the two requests differ in nothing but the ids of their messages.
	Equal bool
}

// TokenRefusals returns the refusals of tokens that the server accepted later, in order. Tokens that
// were removed from a transcript can't be compared, so their refusals are left out.
func (x *Exchanges) TokenRefusals() []TokenRefusal {
	var out []TokenRefusal
	for i, refused := range x.order {
		if !refused.RefusesToken() {
			continue
		}
		authorization := refused.RequestHead().Get("Authorization")
		found := TokenRefusal{Refused: refused}
		for _, later := range x.order[i+1:] {
			if !later.Succeeded() || later.RequestHead().Get("Authorization") != authorization {
				continue
			}
			if equal := isEqualRequest(refused, later); found.Served == nil || equal {
				found.Served, found.Equal = later, equal
			}
			if found.Equal {
				break
			}
		}
		if found.Served != nil {
			out = append(out, found)
		}
	}
	return out
}

// RefusesToken reports whether the response refuses the bearer token of the request with status 401.
// It returns false if the token was removed from the transcript.
func (x *Exchange) RefusesToken() bool {
	if x.Status() != http.StatusUnauthorized {
		return false
	}
	values := x.RequestHead().Values("Authorization")
	if len(values) != 1 || strings.Contains(values[0], redact.Mark) {
		return false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	return strings.EqualFold(scheme, "Bearer") && token != ""
}

// isEqualRequest reports whether two requests have the same head, apart from the length of the body,
// and the same message, apart from its id.
func isEqualRequest(a, b *Exchange) bool {
	fieldsOf := func(x *Exchange) []Field {
		return slices.DeleteFunc(slices.Clone(x.RequestHead().Fields), func(f Field) bool { return strings.EqualFold(f.Name, "Content-Length") })
	}
	if a.RequestHead().Line != b.RequestHead().Line || !slices.Equal(fieldsOf(a), fieldsOf(b)) || (a.Sent == nil) != (b.Sent == nil) {
		return false
	}
	if a.Sent == nil {
		return true
	}
	of, with := a.Sent.Messages(), b.Sent.Messages()
	return len(of) == 1 && len(with) == 1 && of[0].Kind == with[0].Kind && of[0].Method != "" && of[0].Method == with[0].Method && bytes.Equal(of[0].Params(), with[0].Params())
}
