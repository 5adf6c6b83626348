package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/login"
)

func (a *app) logoutCommand() *cobra.Command {
	f, all := &remoteFlags{}, false
	c := &cobra.Command{
		Use:   "logout [flags] URL | logout --all",
		Short: "Delete a login, and end it at the authorization server",
		Long: `Delete a login of mcp-conform login. If the authorization server offers
revocation, revoke its tokens, too.

Exit codes: 0 logged out, 2 usage, 3 there is no such login.`,
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := a.loginStore()
			if err != nil {
				return err
			}
			if all {
				return a.logoutAll(f, store, args)
			}
			u, err := serverURL("logout", args)
			if err != nil {
				return err
			}
			l, err := store.Get(login.ServerName(u), f.as)
			if broken := (*login.BrokenError)(nil); errors.As(err, &broken) {
				return a.deleteBroken(broken.Path)
			}
			switch {
			case err != nil:
				return harnessError{err}
			case l == nil:
				return noLoginError(login.ServerName(u), f.as)
			}
			return a.logout(f, store, l)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.as, "as", "", "name of the login")
	fs.BoolVar(&all, "all", false, "delete all logins")
	f.registerTLS(fs)
	return c
}

// logoutAll deletes all logins, and all files in the folder of logins that can't be read as logins.
func (a *app) logoutAll(f *remoteFlags, store login.Store, args []string) error {
	switch {
	case len(args) > 0:
		return usagef("give one of them", "both --all and a URL are given")
	case f.as != "":
		return usagef("give one of them", "both --all and --as are given")
	}
	every, broken, err := store.All()
	if err != nil {
		return harnessError{err}
	}
	for _, l := range every {
		if err := a.logout(f, store, l); err != nil {
			return err
		}
	}
	for _, path := range broken {
		if err := a.deleteBroken(path); err != nil {
			return err
		}
	}
	return nil
}

// deleteBroken deletes a file that can't be read as a login.
func (a *app) deleteBroken(path string) error {
	if err := os.Remove(path); err != nil {
		return harnessError{fmt.Errorf("deleting the login: %w", err)}
	}
	fmt.Fprintf(a.Out, "Deleted %s, which is not a login.\n", a.redactAndEscape(path))
	return nil
}

// unreadableLoginError converts the error of a store that can't read the login for the server into
// one that ends the command.
func unreadableLoginError(server string, err error) error {
	if broken := (*login.BrokenError)(nil); errors.As(err, &broken) {
		return usagef("log in again: mcp-conform login "+server+"; mcp-conform logout deletes it", "%v", broken)
	}
	return harnessError{err}
}

// noLoginError returns the error for a login that does not exist; the server and the name may be
// "".
func noLoginError(server, name string) error {
	where := ""
	if server != "" {
		where = " for " + server
	}
	return &engine.UnreachableError{
		Reason: "there is no login" + where + asUser(&login.Login{Name: name}), Advice: "mcp-conform whoami lists the logins, and mcp-conform login URL logs in",
	}
}

func (a *app) logout(f *remoteFlags, store login.Store, l *login.Login) error {
	u, err := serverURL("logout", []string{l.Server})
	if err != nil {
		return err
	}
	access, err := f.access(u)
	if err != nil {
		return err
	}
	a.addSecrets(l)
	accessEnded, refreshEnded := l.Revoke(a.ctx, access.Client)
	ended := describeRevocation(accessEnded, refreshEnded, l.Token.RefreshToken != "")
	if err := store.Delete(l); err != nil {
		return harnessError{fmt.Errorf("deleting the login: %w", err)}
	}
	fmt.Fprintf(a.Out, "Logged out of %s%s. %s\n", a.redactAndEscape(l.Server), asUser(l), ended)
	return nil
}

// describeRevocation returns a sentence that says which tokens of a login were revoked. renewable
// reports whether the login has a refresh token.
func describeRevocation(access, refresh, renewable bool) string {
	switch {
	case access && refresh:
		return "The authorization server has revoked its tokens."
	case !renewable:
		return "The token stays valid until it expires, because the authorization server did not revoke it."
	case refresh:
		return "The authorization server has revoked the refresh token, but not the access token, which may stay valid until it expires."
	case access:
		return "The authorization server has revoked the access token, but not the refresh token, which may stay valid."
	}
	return "The authorization server has revoked neither token: the access token stays valid until it expires, and the refresh token may stay valid longer."
}

func (a *app) whoamiCommand() *cobra.Command {
	name := ""
	c := &cobra.Command{
		Use:   "whoami [flags] [URL]",
		Short: "List the logins",
		Long: `List the logins of mcp-conform login, those of one name, or the one for a URL.
Tokens are not printed.

Exit codes: 0, 2 usage, 3 there is no such login.`,
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := a.loginStore()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.whoami(store, name)
			}
			u, err := serverURL("whoami", args)
			if err != nil {
				return err
			}
			l, err := store.Get(login.ServerName(u), name)
			switch {
			case err != nil:
				return unreadableLoginError(u.Redacted(), err)
			case l == nil:
				return noLoginError(login.ServerName(u), name)
			}
			a.printLogin(l)
			return nil
		},
	}
	c.Flags().StringVar(&name, "as", "", "name of the login")
	return c
}

// whoami lists the logins with the name, or all logins if name is "". On stderr it also lists the
// files in the folder of logins that can't be read as logins.
func (a *app) whoami(store login.Store, name string) error {
	all, broken, err := store.All()
	if err != nil {
		return harnessError{err}
	}
	if name != "" {
		all = slices.DeleteFunc(all, func(l *login.Login) bool { return l.Name != name })
	}
	switch {
	case len(all) == 0 && name != "":
		return noLoginError("", name)
	case len(all) == 0:
		fmt.Fprintln(a.Out, "There are no logins. mcp-conform login URL logs in.")
	}
	for _, l := range all {
		a.printLogin(l)
	}
	for _, path := range broken {
		fmt.Fprintf(a.Err, "%s is not a login; mcp-conform logout --all deletes it, too\n", a.redactAndEscape(path))
	}
	return nil
}

// printLogin prints a login without its secrets.
func (a *app) printLogin(l *login.Login) {
	a.addSecrets(l)
	fmt.Fprintf(a.Out, "%s%s, by %s\n  %s\n", a.redactAndEscape(l.Server), asUser(l), a.redactAndEscape(l.Issuer), a.redactAndEscape(describeValidity(l)))
}
