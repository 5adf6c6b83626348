package cli

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"golang.org/x/oauth2"

	"github.com/mcp-conform/mcp-conform/internal/config"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/login"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
)

// noIdentity is the name that stands for no token.
const noIdentity = "none"

// checkCredentials returns a usage error for flags that can't be combined.
func (f *remoteFlags) checkCredentials(t target.Target, given bool) error {
	var ways []string
	for _, w := range []struct {
		name  string
		given bool
	}{
		{"a header Authorization (--bearer-env, --header or the configuration)", given}, {"--client-id", f.clientID != ""},
		{"--auth-server", f.authServer}, {"--as", f.as != ""},
	} {
		if w.given {
			ways = append(ways, w.name)
		}
	}
	users := f.as != "" || f.otherUser != ""
	switch {
	case (f.clientID == "") != (f.clientSecretEnv == ""):
		return usagef("give both, or neither", "of --client-id and --client-secret-env only one is given")
	case (users || f.clientID != "") && t.URL == "":
		return usagef("leave them out, or give the URL", "--as, --other-user and --client-id are for a server that is reached by its URL")
	case len(ways) > 1:
		return usagef("give one of them", "a run has the token of one user, and there are %s", strings.Join(ways, " and "))
	case f.otherUser == "":
		return nil
	case f.authServer:
		return usagef("leave it out", "--other-user is given, and the authorization server of --auth-server knows a second user anyway")
	case f.otherUser == noIdentity, f.as == noIdentity:
		return usagef("name two users", "a second user needs a first one, and %s stands for no token", noIdentity)
	case f.otherUser == f.as:
		return usagef("name two users", "--as and --other-user are both %q", f.as)
	}
	return nil
}

// reachAt returns how to reach the server at u: with the token of the user, if there is one.
func (a *app) reachAt(f *remoteFlags, u *url.URL, reach exchange.Reach) (exchange.Reach, error) {
	access := reach.Access(u)
	switch {
	case reach.Authorizes(), f.as == noIdentity:
	case f.issuer != nil:
		resource, err := login.Describe(a.ctx, access.Client, u)
		if err != nil { // the server may protect itself without a metadata document
			resource = &login.Resource{ID: u.String()}
		}
		issued := issuedTokens(f.issuer, resource)
		reach.Token, reach.Widen = issued.current, issued.widen
	default:
		tokens, err := a.tokensOf(f, access, f.as)
		if err != nil {
			return reach, err
		}
		if tokens != nil {
			reach.Token, reach.Widen = tokens.current, tokens.widen
		}
	}
	return reach, nil
}

// met records how the first server of a run is reached.
func (f *remoteFlags) met(reach exchange.Reach, u *url.URL) {
	f.reached, f.accessTo, f.authorized = reach.Access(u), reach.Access, reach.Token != nil
}

// loginNotices returns which logins the run uses.
func (f *remoteFlags) loginNotices() []string {
	var out []string
	for _, user := range []struct {
		name string
		used bool
	}{{f.as, f.authorized && f.issuer == nil}, {f.otherUser, f.otherUser != ""}} {
		if user.used && f.identity(user.name) == (config.Identity{}) {
			out = append(out, fmt.Sprintf("The login%s is used (mcp-conform whoami lists the logins; --as none runs without it).", asUser(&login.Login{Name: user.name})))
		}
	}
	return out
}

// otherTokens returns the current token of the second user for the server at a URL, or nil if there
// is no second user. A server that the run starts anew may have another URL, and a token is for one.
func (a *app) otherTokens(f *remoteFlags, hasFirst bool) (func(u *url.URL) string, error) {
	switch {
	case f.otherUser == "":
		return nil, nil
	case !hasFirst:
		return nil, usagef("name the first one with --as, or log in", "--other-user names a second user, and there is no first one")
	}
	first, err := a.tokensOf(f, f.reached, f.otherUser)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	known := map[string]*tokens{login.ServerName(f.reached.URL): first}
	return func(u *url.URL) string {
		mu.Lock()
		defer mu.Unlock()
		its := known[login.ServerName(u)]
		if its == nil {
			var err error
			if its, err = a.tokensOf(f, f.accessTo(u), f.otherUser); err != nil {
				return ""
			}
			known[login.ServerName(u)] = its
		}
		return its.current()
	}, nil
}

// identity returns the identity of that name; "" is the client of the flags. It is zero for a login.
func (f *remoteFlags) identity(name string) config.Identity {
	if name == "" {
		return config.Identity{ClientID: f.clientID, ClientSecretEnv: f.clientSecretEnv}
	}
	return f.identities[name]
}

// tokens are those of one identity.
type tokens struct {
	current func() string
	widen   func(scope string) bool // see exchange.Reach; nil if the identity can't
}

// tokensOf returns the tokens of an identity: one of the configuration file, the client of the
// flags, or a login. It returns nil if no identity is named and there is no login.
func (a *app) tokensOf(f *remoteFlags, access transport.Access, name string) (*tokens, error) {
	id := f.identity(name)
	switch {
	case id.BearerEnv != "":
		token, err := a.secretOf("bearer-env of the identity "+name, id.BearerEnv)
		return &tokens{current: func() string { return token }}, err
	case id.ClientID != "":
		secret, err := a.secretOf("--client-secret-env", id.ClientSecretEnv)
		if err != nil {
			return nil, err
		}
		return a.clientTokens(access, login.Client{ID: id.ClientID, Secret: secret})
	}
	return a.loginTokens(f, access, name)
}

// secretOf returns the secret in an environment variable.
func (a *app) secretOf(what, variable string) (string, error) {
	secret := strings.TrimSpace(a.variable(variable))
	if secret == "" {
		return "", usagef("set it to the secret", "%s names %q, and that variable is not set, or empty", what, variable)
	}
	a.secrets.Add(secret)
	return secret, nil
}

// clientTokens returns the tokens of a client that gets its own.
func (a *app) clientTokens(access transport.Access, client login.Client) (*tokens, error) {
	server, err := login.Discover(a.ctx, access.Client, access.URL)
	if err != nil {
		return nil, a.noToken(err)
	}
	source, last, err := server.ClientCredentials(a.ctx, client)
	if err != nil {
		return nil, a.noToken(err)
	}
	a.secrets.Add(last.AccessToken)
	var mu sync.Mutex
	now := a.current(source, last)
	refused := map[string]bool{} // scopes that the authorization server does not grant
	return &tokens{
		current: func() string {
			mu.Lock()
			defer mu.Unlock()
			return now()
		},
		widen: func(scope string) bool {
			mu.Lock()
			defer mu.Unlock()
			before := server.Scopes
			switch {
			case refused[scope]:
				return false
			case !server.AddScopes(strings.Fields(scope)):
				return scope != "" // another request has asked for them
			}
			source, last, err := server.ClientCredentials(a.ctx, client)
			if err != nil {
				refused[scope], server.Scopes = true, before
				return false
			}
			a.secrets.Add(last.AccessToken)
			now = a.current(source, last)
			return true
		},
	}, nil
}

// issuedTokens returns tokens of the authorization server of the run.
func issuedTokens(i *issuer.Issuer, resource *login.Resource) *tokens {
	var mu sync.Mutex
	server := &login.Server{Resource: *resource}
	issue := func() string { return i.Token(issuer.Valid, server.ID, strings.Join(server.Scopes, " ")) }
	token := issue()
	return &tokens{
		current: func() string {
			mu.Lock()
			defer mu.Unlock()
			return token
		},
		widen: func(scope string) bool {
			mu.Lock()
			defer mu.Unlock()
			if server.AddScopes(strings.Fields(scope)) {
				token = issue()
			}
			return scope != ""
		},
	}
}

// loginTokens returns the tokens of a login. Further scopes take the user's consent, so that a run
// can't ask for them.
func (a *app) loginTokens(f *remoteFlags, access transport.Access, name string) (*tokens, error) {
	store, err := a.logins()
	if err != nil && name == "" {
		return nil, nil // nobody has asked for a login
	}
	if err != nil {
		return nil, err
	}
	server := login.ServerName(access.URL)
	l, err := store.Get(server, name)
	if err != nil {
		return nil, harnessError{err}
	}
	if l == nil && name == "" {
		return nil, nil
	}
	if l == nil {
		names := []string{}
		for known := range f.identities {
			names = append(names, known)
		}
		slices.Sort(names)
		advice := fmt.Sprintf("log in: mcp-conform login %s --as %s; or add it to identities in mcp-conform.yaml", server, name)
		if near := target.Nearest(name, names); near != "" {
			advice = fmt.Sprintf("did you mean %q? Otherwise %s", near, advice)
		}
		return nil, usagef(advice, "there is no login and no identity %q for %s", name, server)
	}
	a.hide(l)
	source := l.Source(a.ctx, access.Client, store)
	last, err := source.Token()
	if err != nil {
		return nil, a.noToken(err)
	}
	a.secrets.Add(last.AccessToken, last.RefreshToken)
	return &tokens{current: a.current(source, last)}, nil
}

// current returns the current token of a source. If the source has none any more, the run ends.
func (a *app) current(source oauth2.TokenSource, last *oauth2.Token) func() string {
	return func() string {
		t, err := source.Token()
		if err != nil {
			if why := (*login.Error)(nil); errors.As(err, &why) {
				err = fmt.Errorf("%s (%s)", why.Reason, why.Advice)
			}
			a.cancel(err)
			return last.AccessToken
		}
		a.secrets.Add(t.AccessToken, t.RefreshToken)
		return t.AccessToken
	}
}

// noToken converts the reason why there is no token into an error that ends the run.
func (a *app) noToken(err error) error {
	var why *login.Error
	if errors.As(err, &why) {
		return &engine.UnreachableError{Reason: why.Reason, Advice: why.Advice, Err: err}
	}
	return &engine.NothingJudgedError{Reason: err.Error() + " while a token was requested"}
}
