package suite

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/oauth"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// The headers of a session.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "MCP-Protocol-Version"
)

// Headers returns the headers of a request to the endpoint: those of the session, those that the
// user configured except Authorization, and the given Authorization headers.
func (o *OutsideClient) Headers(method string, body []byte, authorization []string) http.Header {
	h := http.Header{}
	for _, f := range slices.Concat(o.Fields, o.C.Web().Headers(method, body)) {
		if !strings.EqualFold(f.Name, "Authorization") {
			h.Set(f.Name, f.Value)
		}
	}
	for _, value := range authorization {
		h.Add("Authorization", value)
	}
	return h
}

// HeadersIn is like Headers, but for a request in a session other than that of the conversation.
// session is its id, or "" if the server has no sessions.
func (o *OutsideClient) HeadersIn(session, method string, body []byte, authorization []string) http.Header {
	h := o.Headers(method, body, authorization)
	h.Del(sessionHeader)
	if session != "" {
		h.Set(sessionHeader, session)
	}
	if r := o.t.Revision; r.Era() == spec.Handshake && r.HasVersionHeader() {
		h.Set(versionHeader, string(r))
	}
	return h
}

// Authorization returns the Authorization header of the user, and the bearer token in it. The token
// is "" if the header has another scheme.
func (o *OutsideClient) Authorization() (header, token string) {
	for _, f := range o.Fields {
		if strings.EqualFold(f.Name, "Authorization") {
			return f.Value, oauth.BearerToken(f.Value)
		}
	}
	return "", ""
}

// OpeningRequest returns the first request of an ordinary client.
func (o *OutsideClient) OpeningRequest() []byte {
	if o.t.Revision.Era() == spec.Stateless {
		return o.C.Request(o.C.NewID(), spec.MethodDiscover, nil)
	}
	return o.C.Request(o.C.NewID(), spec.MethodInitialize, o.C.InitializeParams())
}

// SendOpening sends the first request of an ordinary client, outside of any session. The argument
// how describes the authorization for humans, such as "without a token".
func (o *OutsideClient) SendOpening(ctx context.Context, how string, authorization []string) *OutsideResponse {
	body := o.OpeningRequest()
	h := o.Headers(http.MethodPost, body, authorization)
	h.Del(sessionHeader)
	if o.t.Revision.Era() == spec.Handshake {
		h.Del(versionHeader)
	}
	return o.Send(ctx, "POST of "+o.t.Revision.OpeningMethod()+" "+how, http.MethodPost, o.URL, h, body)
}

// An OtherUser is a second user of a protected server, who has a session of their own if the server
// has sessions.
type OtherUser struct {
	*OutsideClient
	authorization []string
	session       string
}

// OtherUser returns the second user. c is an open conversation of the first user. The caller has to
// call Leave. OtherUser ends the case unless the transport is Streamable HTTP, the run has bearer
// tokens of two different users, and the server accepts both but no request without a token.
func (t *T) OtherUser(ctx context.Context, c *client.Conversation) *OtherUser {
	if t.Transport != spec.StreamableHTTP {
		t.Skip("the case applies only to Streamable HTTP")
	}
	o := t.OutsideClient(c)
	header, first := o.Authorization()
	if header == "" {
		t.Skip("the server serves requests without a token")
	}
	if first == "" {
		t.GiveUp("mcp-conform was given no bearer token")
	}
	second := ""
	switch {
	case t.OtherToken != nil:
		second = t.OtherToken(o.URL)
	case t.Issuer != nil:
		second = t.Issuer.ForOtherUser(first)
	}
	if second == "" {
		t.GiveUp("mcp-conform knows only one user of the server; --other-user NAME names a second one")
	}
	if second == first || isSameUser(first, second) {
		t.GiveUp("both tokens belong to the same user")
	}
	if o.SendOpening(ctx, "without a token", nil).IsServed() {
		t.GiveUp("the server serves requests without a token, so it need not tell users apart")
	}
	u := &OtherUser{OutsideClient: o, authorization: []string{"Bearer " + second}}
	opened := o.SendOpening(ctx, "by the second user", u.authorization)
	if !opened.IsServed() {
		t.GiveUp("the server does not serve the second user: " + opened.Describe())
	}
	u.session = opened.Header.Get(sessionHeader)
	if t.Revision.Era() == spec.Handshake {
		u.PostIn(ctx, u.session, "by the second user", wire.NewNotification(spec.MethodInitialized, nil))
	}
	return u
}

// isSameUser reports whether both tokens are JWTs of one issuer that name the same user.
func isSameUser(first, second string) bool {
	a, ok := oauth.ParseClaims(first)
	b, ok2 := oauth.ParseClaims(second)
	return ok && ok2 && a.Subject != "" && a.Subject == b.Subject && a.Issuer == b.Issuer
}

// Post sends a message in the second user's own session.
func (u *OtherUser) Post(ctx context.Context, body []byte) *OutsideResponse {
	return u.PostIn(ctx, u.session, "by the second user", body)
}

// PostIn sends a message as the second user in the session with this id. The argument owner follows
// the word session in the description of the request: whose session it is and, if need be, who
// sends the message, such as "of the first user, by the second user".
func (u *OtherUser) PostIn(ctx context.Context, session, owner string, body []byte) *OutsideResponse {
	method := "a message"
	if m := wire.Parse(body).Messages; len(m) == 1 && m[0].Method != "" {
		method = m[0].Method
	}
	return u.Send(ctx, "POST of "+method+" "+owner, http.MethodPost, u.URL, u.HeadersIn(session, http.MethodPost, body, u.authorization), body)
}

// Listen sends the GET for the event stream of a session as the second user; owner describes whose
// session it is.
func (u *OtherUser) Listen(ctx context.Context, session, owner string) *OutsideResponse {
	return u.Send(ctx, "GET of the event stream of the session "+owner, http.MethodGet, u.URL, u.HeadersIn(session, http.MethodGet, nil, u.authorization), nil)
}

// End sends DELETE for a session as the second user; owner describes whose session it is.
func (u *OtherUser) End(ctx context.Context, session, owner string) *OutsideResponse {
	return u.Send(ctx, "DELETE of the session "+owner, http.MethodDelete, u.URL, u.HeadersIn(session, http.MethodDelete, nil, u.authorization), nil)
}

// Leave ends the second user's own session, if there is one.
func (u *OtherUser) Leave(ctx context.Context) {
	if u.session != "" && ctx.Err() == nil {
		u.End(ctx, u.session, "by the second user")
	}
}
