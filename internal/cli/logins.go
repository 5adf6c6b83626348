package cli

import (
	"fmt"

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
revocation, its tokens end, too.

Exit codes: 0 logged out, 2 usage, 3 there is no such login.`,
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := a.logins()
			if err != nil {
				return err
			}
			if all {
				if len(args) > 0 {
					return usagef("give one of them", "both --all and a URL are given")
				}
				every, err := store.All()
				if err != nil {
					return harnessError{err}
				}
				for _, l := range every {
					if err := a.logout(f, store, l); err != nil {
						return err
					}
				}
				return nil
			}
			l, err := a.savedLogin(store, "logout", args, f.as)
			if err != nil {
				return err
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

// savedLogin returns the login for the URL that is the only argument.
func (a *app) savedLogin(store login.Store, command string, args []string, name string) (*login.Login, error) {
	u, err := serverURL(command, args)
	if err != nil {
		return nil, err
	}
	l, err := store.Get(login.ServerName(u), name)
	if err != nil {
		return nil, harnessError{err}
	}
	if l == nil {
		where := &login.Login{Server: login.ServerName(u), Name: name}
		return nil, &engine.UnreachableError{
			Reason: "there is no login for " + where.Server + asUser(where), Advice: "mcp-conform whoami lists the logins, and mcp-conform login URL logs in",
		}
	}
	a.hide(l)
	return l, nil
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
	a.hide(l)
	ended := "The token stays valid until it expires, because the authorization server did not end it."
	if l.Revoke(a.ctx, access.Client) {
		ended = "The authorization server has revoked its tokens."
	}
	if err := store.Delete(l); err != nil {
		return harnessError{fmt.Errorf("deleting the login: %w", err)}
	}
	fmt.Fprintf(a.Out, "Logged out of %s%s. %s\n", a.visible(l.Server), asUser(l), ended)
	return nil
}

func (a *app) whoamiCommand() *cobra.Command {
	name := ""
	c := &cobra.Command{
		Use:   "whoami [URL]",
		Short: "List the logins",
		Long: `List the logins of mcp-conform login, or print the one for a URL. Tokens are not
printed.

Exit codes: 0, 2 usage, 3 there is no login for the URL.`,
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := a.logins()
			if err != nil {
				return err
			}
			var all []*login.Login
			if len(args) == 0 {
				if all, err = store.All(); err != nil {
					return harnessError{err}
				}
			} else {
				l, err := a.savedLogin(store, "whoami", args, name)
				if err != nil {
					return err
				}
				all = append(all, l)
			}
			if len(all) == 0 {
				fmt.Fprintln(a.Out, "There are no logins. mcp-conform login URL logs in.")
			}
			for _, l := range all {
				a.hide(l)
				fmt.Fprintf(a.Out, "%s%s, by %s\n  %s\n", a.visible(l.Server), asUser(l), a.visible(l.Issuer), a.visible(validity(l)))
			}
			return nil
		},
	}
	c.Flags().StringVar(&name, "as", "", "name of the login")
	return c
}
