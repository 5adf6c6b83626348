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
	"github.com/mcp-conform/mcp-conform/internal/spelling"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// authorizing describes what a command waits for while it discovers the authorization server and
// requests a token.
const authorizing = "the metadata of the server and its authorization server"

// noIdentity is the value of --as that sends no token.
const noIdentity = "none"

// checkCredentials returns a usage error for flags about users and tokens that can't be combined,
// or that need a URL. given reports whether the target has an Authorization header.
func (f *remoteFlags) checkCredentials(t target.Target, given bool) error {
	var ways []string
	for _, w := range []struct {
		name  string
		given bool
	}{
		{"a header Authorization (--bearer-env, --header or the configuration)", given}, {f.settingName("client-id"), f.clientID != ""},
		{f.settingName("auth-server"), f.authServer}, {f.settingName("as"), f.as != ""},
	} {
		if w.given {
			ways = append(ways, w.name)
		}
	}
	users := f.as != "" || f.otherUser != ""
	switch {
	case (f.clientID == "") != (f.clientSecretEnv == ""):
		return usagef("give both, or neither", "only one of --client-id and --client-secret-env is given")
	case (users || f.clientID != "") && t.URL == "":
		return usagef("leave them out, or give the URL", "--as, --other-user and --client-id are for a server that is reached by its URL")
	case len(ways) > 1:
		return usagef("give one of them", "a run uses the token of one user, but several are given: %s", strings.Join(ways, " and "))
	case f.otherUser == "":
		return nil
	case f.authServer:
		return usagef(f.otherUserAdvice(), "%s is not needed: the authorization server of %s has a second user", f.settingName("other-user"), f.settingName("auth-server"))
	case f.otherUser == noIdentity, f.as == noIdentity:
		return usagef(f.otherUserAdvice(), "%s is %q, and %s is %q: a second user needs a first one, and %s means no token", f.settingName("as"), f.as, f.settingName("other-user"), f.otherUser, noIdentity)
	case f.otherUser == f.as:
		return usagef(f.otherUserAdvice(), "%s and %s are both %q", f.settingName("as"), f.settingName("other-user"), f.as)
	}
	return nil
}

// otherUserAdvice returns the advice for a second user that can't be used.
func (f *remoteFlags) otherUserAdvice() string {
	if f.origins["other-user"] != "" {
		return "name two users, or give --other-user '' for a run with one"
	}
	return "name two users, or leave --other-user out"
}

// addToken returns reach with the user's token for the server at u, if there is one. It adds no
// token if the user gives an Authorization header, nor with --as none.
func (a *app) addToken(s *remoteServer, u *url.URL, reach exchange.Reach) (exchange.Reach, error) {
	defer engine.ReportWaiting(authorizing, 0, s.waiting)()
	access := reach.Access(u)
	switch {
	case reach.Authorizes(), s.flags.as == noIdentity:
	case s.issuer != nil:
		resource, err := login.Describe(a.ctx, access.Client, u)
		if err != nil { // the server may protect itself without a metadata document
			resource = &login.Resource{ID: u.String()}
		}
		issued := issuedTokens(s.issuer, resource)
		reach.Token, reach.ObtainScope = issued.current, issued.widen
	default:
		tokens, err := a.tokensOf(s.flags, access, s.flags.as)
		if err != nil {
			return reach, err
		}
		if tokens != nil {
			reach.Token, reach.ObtainScope = tokens.current, tokens.widen
		}
	}
	return reach, nil
}

// recordAccess records how the first server of a run is reached.
func (s *remoteServer) recordAccess(reach exchange.Reach, u *url.URL) {
	s.reached, s.accessTo, s.authorized = reach.Access(u), reach.Access, reach.Token != nil
}

// userNotices returns notices that say which logins and identities the run uses.
func (s *remoteServer) userNotices() []string {
	f := s.flags
	var out []string
	for _, user := range []struct {
		name          string
		used          bool
		role, without string
	}{
		{f.as, s.authorized && s.issuer == nil, "", "; --as none runs without it"},
		{f.otherUser, f.otherUser != "", " for the second user", ""},
	} {
		switch id := f.identity(user.name); {
		case !user.used:
		case id == config.Identity{}:
			out = append(out, fmt.Sprintf("The login%s is used%s (mcp-conform whoami lists the logins%s).", asUser(&login.Login{Name: user.name}), user.role, user.without))
		case user.name != "":
			out = append(out, fmt.Sprintf("The identity %s is used%s.", user.name, user.role))
		}
	}
	return out
}

// refusedTokenAdvice returns what to do if the server refuses the user's token. It returns "" if
// there is no token, or if it is given in a header.
func (s *remoteServer) refusedTokenAdvice(given bool) string {
	f := s.flags
	id := f.identity(f.as)
	switch {
	case given || !s.authorized:
		return ""
	case s.issuer != nil:
		return "the server does not trust the authorization server in " + issuer.URLVariable + ": let it accept that issuer, the keys in its metadata, and the server's own resource as the audience"
	case id.BearerEnv != "":
		return "the server did not accept the token of the identity " + f.as + ": check the variable " + id.BearerEnv
	case id.ClientID != "":
		return "the server did not accept the token that its authorization server issued to the client " + id.ClientID + ": read the server's log"
	}
	return "the server did not accept the token of the login; log in again: " + s.loginCommand(f.as)
}

// loginCommand returns the command that logs in to the server.
func (s *remoteServer) loginCommand(name string) string {
	argv := []string{"mcp-conform", "login", s.reached.URL.String()}
	if name != "" && name != noIdentity {
		argv = append(argv, "--as", name)
	}
	return reporters.ShellQuote(argv)
}

// missingTokenAdvice returns advice on how to give a token to a server that requires one.
func (a *app) missingTokenAdvice(f *serverFlags, s *remoteServer) string {
	switch {
	case f.started != "":
		return "give a token with --bearer-env NAME, or let the server trust --auth-server"
	case a.environmentVariable("CI") != "":
		return "give a token with --bearer-env NAME, or a client with --client-id ID --client-secret-env NAME"
	default:
		return s.loginCommand(f.remote.as) + " (or give a token with --bearer-env NAME)"
	}
}

// otherTokenFunc returns a function that returns the second user's current token for the server at
// a URL, or "" if there is none because a request for it failed. otherTokenFunc returns nil if
// there is no second user, and a usage error if there is no first one. The function takes a URL
// because a server that the run restarts may have another URL, and each token is valid for one URL.
func (a *app) otherTokenFunc(s *remoteServer, hasFirst bool) (func(u *url.URL) string, error) {
	f := s.flags
	switch {
	case f.otherUser == "":
		return nil, nil
	case !hasFirst:
		return nil, usagef("name the first one with --as, or log in", "%s names a second user, but there is no first one", f.settingName("other-user"))
	}
	defer engine.ReportWaiting(authorizing, 0, s.waiting)()
	first, err := a.tokensOf(f, s.reached, f.otherUser)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	known := map[string]*tokens{login.ServerName(s.reached.URL): first}
	return func(u *url.URL) string {
		mu.Lock()
		defer mu.Unlock()
		its := known[login.ServerName(u)]
		if its == nil {
			var err error
			if its, err = a.tokensOf(f, s.accessTo(u), f.otherUser); err != nil {
				return ""
			}
			known[login.ServerName(u)] = its
		}
		return its.current()
	}, nil
}

// identity returns the identity with the name; "" is the client of --client-id. It returns the zero
// value for an unknown name, which can then only be the name of a login.
func (f *remoteFlags) identity(name string) config.Identity {
	if name == "" {
		return config.Identity{ClientID: f.clientID, ClientSecretEnv: f.clientSecretEnv}
	}
	return f.identities[name]
}

// credentialName returns the name of a credential for messages: its flag, and the identity that it
// belongs to.
func (f *remoteFlags) credentialName(flag, identity string) string {
	if identity == "" {
		return f.settingName(flag)
	}
	return flag + " of the identity " + identity
}

// tokens are the tokens of one identity.
type tokens struct {
	current func() string
	widen   func(scope string) bool // see exchange.Reach; nil if the identity can't get more scopes
}

// tokensOf returns the tokens of an identity: one of the configuration file, the client of the
// flags, or a login. It returns nil if no identity is named and there is no login.
func (a *app) tokensOf(f *remoteFlags, access transport.Access, name string) (*tokens, error) {
	id := f.identity(name)
	switch {
	case id.BearerEnv != "":
		token, err := a.secretOf(target.Credential{What: f.credentialName("bearer-env", name), Variable: id.BearerEnv, Token: true})
		return &tokens{current: func() string { return token }}, err
	case id.ClientID != "":
		secret, err := a.secretOf(target.Credential{What: f.credentialName("client-secret-env", name), Variable: id.ClientSecretEnv})
		if err != nil {
			return nil, err
		}
		return a.clientTokens(access, login.Client{ID: id.ClientID, Secret: secret})
	}
	return a.loginTokens(f, access, name)
}

// secretOf returns the secret in the environment variable of a credential.
func (a *app) secretOf(c target.Credential) (string, error) {
	return c.Read(func(name string) (string, bool) { value := a.environmentVariable(name); return value, value != "" }, a.secrets)
}

// clientTokens returns the tokens of a client that requests them itself (client credentials).
func (a *app) clientTokens(access transport.Access, client login.Client) (*tokens, error) {
	server, err := login.Discover(a.ctx, access.Client, access.URL)
	if err != nil {
		return nil, a.tokenError(err)
	}
	source, last, err := server.ObtainClientToken(a.ctx, client)
	if err != nil {
		return nil, a.tokenError(err)
	}
	a.secrets.Add(last.AccessToken)
	var mu sync.Mutex
	now := a.currentTokenFunc(source, last)
	refused := map[string]bool{} // scopes that the authorization server has refused to grant
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
				return scope != "" // the token request for another message has already obtained the scopes
			}
			source, last, err := server.ObtainClientToken(a.ctx, client)
			if err != nil {
				refused[scope], server.Scopes = true, before
				return false
			}
			a.secrets.Add(last.AccessToken)
			now = a.currentTokenFunc(source, last)
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

// loginTokens returns the tokens of the login with the name. It returns nil if name is "" and there
// is no such login. The tokens have no widen function, because further scopes require the user's
// consent.
func (a *app) loginTokens(f *remoteFlags, access transport.Access, name string) (*tokens, error) {
	store, err := a.loginStore()
	if err != nil && name == "" {
		return nil, nil // no login was requested
	}
	if err != nil {
		return nil, err
	}
	server := login.ServerName(access.URL)
	l, err := store.Get(server, name)
	if err != nil {
		return nil, unreadableLoginError(server, err)
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
		if near := spelling.Nearest(name, names); near != "" {
			advice = fmt.Sprintf("did you mean %q? Otherwise %s", near, advice)
		}
		return nil, usagef(advice, "there is no login and no identity %q for %s", name, server)
	}
	a.addSecrets(l)
	source := l.Source(a.ctx, access.Client, store)
	last, err := source.Token()
	if err != nil {
		return nil, a.tokenError(err)
	}
	a.secrets.Add(last.AccessToken, last.RefreshToken)
	return &tokens{current: a.currentTokenFunc(source, last)}, nil
}

// currentTokenFunc returns a function that returns the current token of a source. If the source
// can't renew the token, that function cancels the run and returns the token in last.
func (a *app) currentTokenFunc(source oauth2.TokenSource, last *oauth2.Token) func() string {
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

// tokenError converts the error of a failed token request into one that ends the command.
func (a *app) tokenError(err error) error {
	var why *login.Error
	if errors.As(err, &why) {
		return &engine.UnreachableError{Reason: why.Reason, Advice: why.Advice, Err: err}
	}
	return &engine.NothingJudgedError{Reason: err.Error() + " while a token was requested"}
}
