package login

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/oauth2"
)

// A Login is a user's grant for a server, with its tokens.
type Login struct {
	Server string `json:"server"`         // its URL, as ServerName writes it
	Name   string `json:"name,omitempty"` // distinguishes several users of one server

	Issuer        string        `json:"issuer"` // the authorization server
	TokenURL      string        `json:"token_url"`
	RevocationURL string        `json:"revocation_url,omitempty"`
	Resource      string        `json:"resource"`
	Scopes        []string      `json:"scopes,omitempty"`
	Client        Client        `json:"client"`
	InBody        bool          `json:"client_in_body,omitempty"` // the client authenticates in the body of requests
	Token         *oauth2.Token `json:"token"`
}

// loginWith returns the login with a token that the client got. The scopes of the login are those
// that the token response names or, if it names none, those of the server.
func (s *Server) loginWith(c Client, t *oauth2.Token) *Login {
	scopes := s.Scopes
	if granted, ok := t.Extra("scope").(string); ok && granted != "" {
		scopes = strings.Fields(granted)
	}
	return &Login{
		Server: ServerName(s.URL), Issuer: s.Issuer, TokenURL: s.TokenURL, RevocationURL: s.RevocationURL, Resource: s.ID, Scopes: scopes,
		Client: c, InBody: s.authStyle(c) == oauth2.AuthStyleInParams, Token: t,
	}
}

// Source returns a source of tokens for a login in the store. The source renews an expired token,
// and saves the new one in the store. The error of the source is an *Error, or the context's.
func (l *Login) Source(ctx context.Context, client *http.Client, s Store) oauth2.TokenSource {
	return oauth2.ReuseTokenSource(l.Token, &renewer{ctx, client, s, l})
}

// A renewer renews the token of a login.
type renewer struct {
	ctx    context.Context //nolint:containedctx // an oauth2.TokenSource takes none
	client *http.Client
	store  Store
	login  *Login
}

// renewing serializes renewals, because some refresh tokens can be used only once, and a run may
// have several sources for the same login.
var renewing sync.Mutex

// Token returns the token in the store if another source or process has renewed it. Otherwise it
// gets a new token from the authorization server, and saves it.
func (r *renewer) Token() (*oauth2.Token, error) {
	renewing.Lock()
	defer renewing.Unlock()
	if t := r.reloadStoredToken(); t != nil {
		return t, nil
	}
	defer r.store.lock(r.ctx, r.login)()
	if t := r.reloadStoredToken(); t != nil {
		return t, nil
	}
	l := r.login
	advice := "log in again: mcp-conform login " + l.Server
	if l.Name != "" {
		advice += " --as " + l.Name
	}
	if l.Token.RefreshToken == "" {
		return nil, &Error{"the token of the login has expired, and the authorization server issued no refresh token", advice}
	}
	style := oauth2.AuthStyleInHeader
	if l.InBody {
		style = oauth2.AuthStyleInParams
	}
	c := oauth2.Config{ClientID: l.Client.ID, ClientSecret: l.Client.Secret, Endpoint: oauth2.Endpoint{TokenURL: l.TokenURL, AuthStyle: style}}
	// Exchange sends the resource, which the token source of the library leaves out. If the
	// response has no refresh token, Exchange keeps the current one. It also sends an empty code,
	// which counts as absent (RFC 6749, section 3.2).
	t, err := checkToken(c.Exchange(context.WithValue(r.ctx, oauth2.HTTPClient, withTimeout(r.client)), "",
		oauth2.SetAuthURLParam("grant_type", "refresh_token"), oauth2.SetAuthURLParam("refresh_token", l.Token.RefreshToken), oauth2.SetAuthURLParam("resource", l.Resource)))
	if err != nil {
		if t := r.reloadStoredToken(); t != nil { // renewed by a process that could not lock
			return t, nil
		}
		return nil, newError(r.ctx, fmt.Sprintf("the token of the login has expired, and the authorization server %s does not renew it: %s", l.Issuer, explainTokenError(err, l.Client)), advice)
	}
	renewed := *l
	renewed.Token, r.login = t, &renewed
	if err := r.store.Save(&renewed); err != nil {
		return nil, &Error{fmt.Sprintf("the renewed login can't be saved: %v", err), "the old one may no longer be valid; " + advice}
	}
	return t, nil
}

// reloadStoredToken replaces the login with the one in the store, if there is one, and returns its
// token if that is valid, else nil.
func (r *renewer) reloadStoredToken() *oauth2.Token {
	if newer, err := r.store.Get(r.login.Server, r.login.Name); err == nil && newer != nil {
		r.login = newer
	}
	if r.login.Token.Valid() {
		return r.login.Token
	}
	return nil
}

// Revoke asks the authorization server to revoke the tokens of the login (RFC 7009), and reports
// which of them it revoked. refresh is also true if the login has no refresh token. A server that
// verifies access tokens itself accepts a revoked one until it expires.
func (l *Login) Revoke(ctx context.Context, client *http.Client) (access, refresh bool) {
	if l.RevocationURL == "" {
		return false, l.Token.RefreshToken == ""
	}
	access = l.revoke(ctx, client, l.Token.AccessToken, "access_token")
	refresh = l.Token.RefreshToken == "" || l.revoke(ctx, client, l.Token.RefreshToken, "refresh_token")
	return access, refresh
}

// revoke asks the authorization server to revoke one token, and reports whether it did so.
func (l *Login) revoke(ctx context.Context, client *http.Client, token, kind string) bool {
	form := url.Values{"token": {token}, "token_type_hint": {kind}}
	if l.InBody {
		form.Set("client_id", l.Client.ID)
		if l.Client.Secret != "" {
			form.Set("client_secret", l.Client.Secret)
		}
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, l.RevocationURL, strings.NewReader(form.Encode()))
	if err != nil {
		return false
	}
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if !l.InBody {
		q.SetBasicAuth(url.QueryEscape(l.Client.ID), url.QueryEscape(l.Client.Secret))
	}
	response, err := withTimeout(client).Do(q)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode/100 == 2
}
