package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/login"
	"github.com/mcp-conform/mcp-conform/internal/oauth"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// loginFolder is the environment variable that names the folder for logins.
const loginFolder = "MCP_CONFORM_LOGINS"

// loginStore returns the store of logins: the folder in MCP_CONFORM_LOGINS or, if the variable is
// not set, a folder in the user's folder for settings.
func (a *app) loginStore() (login.Store, error) {
	if folder := a.environmentVariable(loginFolder); folder != "" {
		if info, err := os.Stat(folder); err == nil && !info.IsDir() {
			return login.Store{}, usagef("set it to a folder for logins, or unset it", "%s names %q, which is not a folder", loginFolder, folder)
		}
		return login.Store{Folder: folder}, nil
	}
	folder, err := os.UserConfigDir()
	if err != nil {
		return login.Store{}, usagef("set it to a folder for logins", "this user has no folder for settings (%v), and %s is not set", err, loginFolder)
	}
	return login.Store{Folder: filepath.Join(folder, "mcp-conform", "logins")}, nil
}

// loginFlags are the flags of login.
type loginFlags struct {
	remote    remoteFlags
	scopes    []string
	redirect  string
	noBrowser bool
	timeout   time.Duration
}

func (a *app) loginCommand() *cobra.Command {
	f := &loginFlags{}
	c := &cobra.Command{
		Use:   "login [flags] URL",
		Short: "Log in to a protected server with a browser",
		Long: `Log in to a protected server as a user, so that later commands with its URL
use that login. The server's metadata names the authorization server, which
asks the user in a browser. The login is kept in a file that only you can read,
and its token is renewed when it expires.

  mcp-conform login https://example.com/mcp
  mcp-conform login https://example.com/mcp --as bob     a second user

In CI there is no browser: see --client-id and --bearer-env of mcp-conform run.

Exit codes: 0 logged in, 2 usage, 3 the login failed, 4 interrupted.`,
		RunE: func(_ *cobra.Command, args []string) error {
			u, err := serverURL("login", args)
			if err != nil {
				return err
			}
			return a.login(f, u)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.remote.as, "as", "", "name for this login, if you log in as several users")
	fs.BoolVar(&f.noBrowser, "no-browser", false, "print the address instead of opening a browser")
	fs.StringVar(&f.remote.clientID, "client-id", "", "id of a client that the authorization server knows, or the URL of a client id metadata document [default: mcp-conform registers one]")
	fs.StringVar(&f.remote.clientSecretEnv, "client-secret-env", "", "with --client-id: variable that holds the client's secret, if it has one")
	fs.StringArrayVar(&f.scopes, "scope", nil, "scope to request instead of those that the server names (repeatable)")
	fs.StringVar(&f.redirect, "redirect", "http://127.0.0.1:0/callback", "redirect URI that the client is registered with; port 0 is any free port")
	fs.DurationVar(&f.timeout, "timeout", 5*time.Minute, "longest wait for the user")
	f.remote.registerTLS(fs)
	return c
}

// serverURL returns the HTTP URL that is the only argument of a command. Any other arguments are a
// usage error.
func serverURL(command string, args []string) (*url.URL, error) {
	advice := "give the URL of the server: mcp-conform " + command + " https://example.com/mcp"
	if len(args) != 1 {
		return nil, usagef(advice, "mcp-conform %s takes one URL, and there are %d arguments", command, len(args))
	}
	u, err := url.Parse(args[0])
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usagef(advice, "%q is not a URL of a server", args[0])
	}
	return u, nil
}

// access returns how login commands reach the server at u.
func (f *remoteFlags) access(u *url.URL) (transport.Access, error) {
	reach, err := f.reach(target.Target{}, exchange.NewPacer())
	return reach.Access(u), err
}

func (a *app) login(f *loginFlags, u *url.URL) error {
	redirect, err := url.Parse(f.redirect)
	if err == nil {
		err = login.CheckRedirect(redirect)
	}
	if err != nil {
		return usagef("leave it out, or give the one that the client is registered with", "--redirect is %q: %v", f.redirect, err)
	}
	if a.environmentVariable("CI") != "" && !f.noBrowser {
		return usagef("in CI, give --client-id and --client-secret-env, or --bearer-env, to mcp-conform run; if somebody can open the address elsewhere, add --no-browser",
			"a login needs a browser, but this is CI (the variable CI is set)")
	}
	if f.remote.as == noIdentity {
		return usagef("give another name", "--as none means no login")
	}
	client := login.Client{ID: f.remote.clientID}
	if f.remote.clientSecretEnv != "" {
		if client.Secret, err = a.secretOf(target.Credential{What: "--client-secret-env", Variable: f.remote.clientSecretEnv}); err != nil {
			return err
		}
	}
	store, err := a.loginStore()
	if err != nil {
		return err
	}
	access, err := f.remote.access(u)
	if err != nil {
		return err
	}
	defer a.handleSignals("")()
	ctx, cancel := context.WithTimeoutCause(a.ctx, f.timeout, fmt.Errorf("the login in the browser was not finished within %s", formatDuration(f.timeout)))
	defer cancel()
	stop := engine.ReportWaiting(authorizing, 0, a.waitingPrinter())
	server, err := login.Discover(a.ctx, access.Client, u)
	if stop(); err == nil {
		if len(f.scopes) > 0 {
			server.Scopes = f.scopes
		}
		fmt.Fprintf(a.Err, "The authorization server: %s\n", a.redactAndEscape(server.Issuer))
		var l *login.Login
		if l, err = server.Authorize(ctx, client, a.browser(f, redirect)); err == nil {
			return a.storeLogin(store, l, f.remote.as)
		}
	}
	return a.loginError(ctx, err)
}

// browser returns how the login page is opened, and how the result comes back.
func (a *app) browser(f *loginFlags, redirect *url.URL) login.Browser {
	b := login.Browser{Redirect: redirect, Say: func(text string) { fmt.Fprintln(a.Err, a.redactAndEscape(text)) }}
	if !f.noBrowser && a.Browse != nil {
		b.Open = func(address string) {
			fmt.Fprintf(a.Err, "Opening the browser. If none opens, go to:\n\n%s\n\n", address)
			a.Browse(address)
		}
		return b
	}
	pasted := make(chan string)
	b.Pasted = pasted
	go func() { // ends when the input ends, or with the process
		defer close(pasted)
		for lines := bufio.NewScanner(a.In); lines.Scan(); {
			pasted <- lines.Text()
		}
	}()
	b.Open = func(address string) {
		fmt.Fprintf(a.Err, "Open this address:\n\n%s\n\nIf that browser is on another machine, paste here the address at which it ends:\n", address)
	}
	return b
}

// storeLogin stores a new login and prints its server, its name and its token's validity.
func (a *app) storeLogin(store login.Store, l *login.Login, name string) error {
	l.Name = name
	a.addSecrets(l)
	if err := store.Save(l); err != nil {
		return harnessError{fmt.Errorf("saving the login: %w", err)}
	}
	fmt.Fprintf(a.Out, "Logged in to %s%s. %s\n", a.redactAndEscape(l.Server), asUser(l), a.redactAndEscape(describeValidity(l)))
	return nil
}

// addSecrets adds the secrets of a login to those that must not leave the process.
func (a *app) addSecrets(l *login.Login) {
	for _, secret := range []string{l.Token.AccessToken, l.Token.RefreshToken, l.Client.Secret} {
		if secret != "" {
			a.secrets.Add(secret)
		}
	}
}

func asUser(l *login.Login) string {
	if l.Name == "" {
		return ""
	}
	return " as " + l.Name
}

// describeValidity returns sentences that say when the token of a login expires, whether it can be
// renewed, and which scopes and user it has.
func describeValidity(l *login.Login) string {
	text := "The token does not expire"
	if end := l.Token.Expiry.Local().Format(time.DateTime + " MST"); l.Token.Valid() && !l.Token.Expiry.IsZero() {
		text = "The token is valid until " + end
	} else if !l.Token.Expiry.IsZero() {
		text = "The token expired at " + end
	}
	switch {
	case l.Token.RefreshToken != "":
		text += ", and can be renewed"
	case !l.Token.Expiry.IsZero():
		text += ", and can't be renewed"
	}
	if len(l.Scopes) > 0 {
		text += "; its scopes are " + strings.Join(l.Scopes, " ")
	}
	if claims, ok := oauth.ParseClaims(l.Token.AccessToken); ok && claims.Subject != "" {
		text += "; its user (sub) is " + wire.Excerpt(claims.Subject, 100)
	}
	return text + "."
}

// loginError converts the reason why a login failed into an error that ends the command.
func (a *app) loginError(ctx context.Context, err error) error {
	var why *login.Error
	switch {
	case errors.As(err, &why):
		return &engine.UnreachableError{Reason: why.Reason, Advice: why.Advice, Err: err}
	case a.ctx.Err() != nil:
		return harnessError{errors.New("interrupted before the login was finished")}
	default:
		return &engine.UnreachableError{Reason: context.Cause(ctx).Error(), Advice: "log in again; --timeout sets the time", Err: err}
	}
}
