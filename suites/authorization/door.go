package authorization

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/oauth"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A door is the server as seen from outside.
type door struct {
	*suite.Outside
	t         *suite.T
	documents map[string]*suite.OutsideAnswer // metadata documents by URL
	// begun is the answer to the first request without a token that is refused.
	begun *suite.OutsideAnswer
	// inner is the request that needs a token, if the first request of a client needs none.
	inner *innerRequest
}

// An innerRequest is a request in a session that a client without a token has opened.
type innerRequest struct {
	method  string
	params  map[string]any
	session string // its id, "" if the server has no sessions
}

// approach opens a conversation in which nothing is sent. It ends the case if the server is not
// reached over HTTP.
func approach(ctx context.Context, t *suite.T) *door {
	c := t.Open(ctx, client.Options{})
	return doorOf(t, c)
}

func doorOf(t *suite.T, c *client.Conversation) *door {
	return &door{Outside: t.Outside(c), t: t, documents: map[string]*suite.OutsideAnswer{}}
}

// protected is approach for cases that judge a server that refuses a request without a token with
// status 401. It ends the case at others.
func protected(ctx context.Context, t *suite.T) *door {
	d := approach(ctx, t)
	d.mustBeProtected(ctx)
	return d
}

func (d *door) mustBeProtected(ctx context.Context) {
	switch d.begun = d.refusal(ctx); {
	case d.begun.IsServed():
		d.t.Skip("the server serves requests without a token")
	case d.begun.Status != http.StatusUnauthorized:
		d.t.GiveUp(fmt.Sprintf("the server answers a request without a token with status %d, so it is not known to be protected", d.begun.Status))
	}
}

// refusal returns the answer to a request without a token: to the first request of a client or, if
// that is served, to the first of several later ones that is refused with status 401.
func (d *door) refusal(ctx context.Context) *suite.OutsideAnswer {
	first := d.open(ctx, "without a token", nil)
	if !first.IsServed() {
		return first
	}
	session := first.Header.Get("Mcp-Session-Id")
	if d.t.Revision.Era() == spec.Handshake {
		body := wire.NewNotification(spec.MethodInitialized, nil)
		d.Send(ctx, "POST of "+spec.MethodInitialized+" without a token", http.MethodPost, d.URL, d.sessionFields(body, nil, session), body)
	}
	for _, method := range d.t.DeclaredLists() {
		d.inner = &innerRequest{method, nil, session}
		if a := d.open(ctx, "without a token", nil); a.Status == http.StatusUnauthorized {
			return a
		}
	}
	for _, use := range d.uses() {
		d.inner = &innerRequest{use.method, use.params, session}
		if a := d.open(ctx, "without a token", nil); a.Status == http.StatusUnauthorized {
			return a
		}
	}
	d.inner = nil
	return first
}

// opening returns the first request of an ordinary client.
func (d *door) opening() []byte {
	if d.t.Revision.Era() == spec.Stateless {
		return d.C.Request(d.C.NewID(), spec.MethodDiscover, nil)
	}
	return d.C.Request(d.C.NewID(), spec.MethodInitialize, d.C.InitializeParams())
}

// open sends the first request of an ordinary client with these Authorization headers, outside of
// any session, or the first one that needs a token.
func (d *door) open(ctx context.Context, how string, authorization []string) *suite.OutsideAnswer {
	if in := d.inner; in != nil {
		body := d.C.Request(d.C.NewID(), in.method, in.params)
		return d.Send(ctx, "POST of "+in.method+" "+how, http.MethodPost, d.URL, d.sessionFields(body, authorization, in.session), body)
	}
	body := d.opening()
	h := d.fields(http.MethodPost, body, authorization)
	h.Del("Mcp-Session-Id")
	if d.t.Revision.Era() == spec.Handshake {
		h.Del("MCP-Protocol-Version")
	}
	return d.Send(ctx, "POST of "+d.t.Revision.OpeningMethod()+" "+how, http.MethodPost, d.URL, h, body)
}

// sessionFields returns the headers of a message in a session that is not that of the conversation.
func (d *door) sessionFields(body []byte, authorization []string, session string) http.Header {
	h := d.fields(http.MethodPost, body, authorization)
	h.Del("Mcp-Session-Id")
	if session != "" {
		h.Set("Mcp-Session-Id", session)
	}
	if r := d.t.Revision; r.Era() == spec.Handshake && r.AtLeast(spec.V20250618) {
		h.Set("MCP-Protocol-Version", string(r))
	}
	return h
}

// post sends a message to the endpoint, with a query if one is given.
func (d *door) post(ctx context.Context, how string, authorization []string, body []byte, query string) *suite.OutsideAnswer {
	method := ""
	if m := wire.Parse(body).Messages; len(m) == 1 {
		method = " of " + m[0].Method
	}
	u := *d.URL
	if query != "" {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+query, "&")
	}
	return d.Send(ctx, "POST"+method+" "+how, http.MethodPost, &u, d.fields(http.MethodPost, body, authorization), body)
}

// fields returns the headers of a request to the endpoint: those of the session, those that the
// user gave except Authorization, and the given Authorization headers.
func (d *door) fields(method string, body []byte, authorization []string) http.Header {
	h := http.Header{}
	for _, f := range slices.Concat(d.Fields, d.C.Web().Headers(method, body)) {
		if !strings.EqualFold(f.Name, "Authorization") {
			h.Set(f.Name, f.Value)
		}
	}
	for _, value := range authorization {
		h.Add("Authorization", value)
	}
	return h
}

// token returns the Authorization header that the user gave, and whether it is a bearer token.
func (d *door) token() (header string, bearer bool) {
	for _, f := range d.Fields {
		if strings.EqualFold(f.Name, "Authorization") {
			scheme, token, _ := strings.Cut(f.Value, " ")
			return f.Value, strings.EqualFold(scheme, "Bearer") && token != ""
		}
	}
	return "", false
}

// fetch gets a metadata document, without any of the user's headers. It follows redirects as far as
// a document may be fetched. It gets each document once.
func (d *door) fetch(ctx context.Context, u *url.URL) *suite.OutsideAnswer {
	if a := d.documents[u.String()]; a != nil {
		return a
	}
	h := http.Header{"Accept": {"application/json"}}
	if d.t.Revision.Era() == spec.Handshake {
		h.Set("MCP-Protocol-Version", string(d.t.Revision))
	}
	at, about := u, "GET of "+u.Redacted()
	a := d.Send(ctx, about, http.MethodGet, at, h, nil)
	for hops := 0; hops < maxHops && a.Status/100 == 3; hops++ {
		to, err := at.Parse(a.Header.Get("Location"))
		if err != nil || !oauth.MayFetch(d.URL, to) {
			break
		}
		at = to
		a = d.Send(ctx, about+", redirected to "+at.Redacted(), http.MethodGet, at, h, nil)
	}
	a.About = about
	d.documents[u.String()] = a
	return a
}

// maxHops limits the redirects that are followed.
const maxHops = 10

// isOutOfReach reports whether nothing can be said of a document, because its host did not respond,
// or redirects were not followed.
func isOutOfReach(a *suite.OutsideAnswer) bool { return a.Status == 0 || a.Status/100 == 3 }

// challengeIn returns the Bearer challenge, if there is a well-formed one.
func challengeIn(a *suite.OutsideAnswer) (oauth.Challenge, bool) {
	all, err := oauth.ParseChallenges(challengeLines(a))
	if err != nil {
		return oauth.Challenge{}, false
	}
	return oauth.Bearer(all)
}

// deviates reports a deviation that the answers show. If the server shows no sign that it follows
// the authorization of MCP, it may have one of its own (basic: parties MAY negotiate their own
// authentication), and then nothing in this area binds it: the deviation is a note.
func (d *door) deviates(ctx context.Context, v verdict.Deviation, shownBy ...*suite.OutsideAnswer) {
	d.deviatesUnless(ctx, v, verdict.OnlyNote, shownBy)
}

// letsIn is deviates for a request that must not be served. That is worth a warning whatever the
// authentication is.
func (d *door) letsIn(ctx context.Context, v verdict.Deviation, shownBy ...*suite.OutsideAnswer) {
	d.deviatesUnless(ctx, v, verdict.AtMostWarning, shownBy)
}

func (d *door) deviatesUnless(ctx context.Context, v verdict.Deviation, otherwise verdict.Weight, shownBy []*suite.OutsideAnswer) {
	for _, a := range shownBy {
		v.At = append(v.At, a.At)
		if v.Seen == "" {
			v.Seen = a.About + ": " + a.Describe()
		}
	}
	v.Weight = max(v.Weight, d.most(ctx, otherwise))
	d.t.Deviates(d.C, v)
}

// most returns how much a deviation may weigh. It has its full weight if the server names metadata
// in its challenge, or has the metadata document of a protected resource. In 2025-03-26 a server
// has neither, and that of an authorization server at the root of the host may be another's.
// Without all that the server shows no sign that it follows the authorization of MCP.
func (d *door) most(ctx context.Context, otherwise verdict.Weight) verdict.Weight {
	if c, ok := challengeIn(d.begun); ok && c.Param("resource_metadata") != "" {
		return verdict.Full
	}
	if slices.ContainsFunc(oauth.ResourceMetadataURLs(d.URL), func(u *url.URL) bool { return d.describes(d.fetch(ctx, u), u) }) {
		return verdict.Full
	}
	if !d.t.Revision.AtLeast(spec.V20250618) && isServerDocument(d.fetch(ctx, oauth.RootServerMetadataURL(d.URL))) {
		return verdict.AtMostWarning
	}
	return otherwise
}

// describes reports whether the answer is the metadata document of a protected resource, found at u.
// One at the root counts only if its resource is above the endpoint: it may be about another server
// of the host.
func (d *door) describes(a *suite.OutsideAnswer, u *url.URL) bool {
	members := a.Members()
	if a.Status != http.StatusOK || members["resource"] == nil && members["authorization_servers"] == nil {
		return false
	}
	root := &url.URL{Scheme: d.URL.Scheme, Host: d.URL.Host}
	if places := oauth.ResourceMetadataURLs(root); u.String() != places[0].String() {
		return true
	}
	named, _ := wire.Text(members["resource"])
	about, err := url.Parse(named)
	return err == nil && (isPrefix(about.Path, d.URL.Path) || strings.TrimSuffix(about.Path, "/") == strings.TrimSuffix(d.URL.Path, "/"))
}

// isServerDocument reports whether the answer is the metadata document of an authorization server.
func isServerDocument(a *suite.OutsideAnswer) bool {
	members := a.Members()
	return a.Status == http.StatusOK && (members["issuer"] != nil || members["token_endpoint"] != nil || members["authorization_endpoint"] != nil)
}

func challengeLines(a *suite.OutsideAnswer) []string { return a.Header.Values("WWW-Authenticate") }
