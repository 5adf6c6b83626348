package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/oauth"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
)

// startIssuer starts the authorization server of --auth-server, which the started server is told
// to trust.
func (a *app) startIssuer(f *remoteFlags) error {
	i, err := issuer.Start(a.ctx)
	if err != nil {
		return harnessError{err}
	}
	f.issuer = i
	return nil
}

// reachAt returns how to reach the server at u: with a valid token, if the run has an authorization
// server and the user gave no Authorization header.
func (f *remoteFlags) reachAt(ctx context.Context, u *url.URL, reach exchange.Reach) exchange.Reach {
	given := func(x transcript.Field) bool { return strings.EqualFold(x.Name, "Authorization") }
	if f.issuer == nil || slices.ContainsFunc(reach.Fields, given) {
		return reach
	}
	resource, scope := describedResource(ctx, reach.Access(u))
	token := f.issuer.Token(issuer.Valid, resource, scope)
	reach.Fields = append(slices.Clone(reach.Fields), transcript.Field{Name: "Authorization", Value: "Bearer " + token})
	return reach
}

// describedResource returns the resource identifier and the scopes in the metadata document of a
// protected server; without one, its URL and no scope.
func describedResource(ctx context.Context, access transport.Access) (resource, scope string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, u := range oauth.ResourceMetadataURLs(access.URL) {
		var document struct {
			Resource string   `json:"resource"`
			Scopes   []string `json:"scopes_supported"`
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			continue
		}
		response, err := access.Client.Do(r)
		if err != nil {
			continue
		}
		err = json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&document)
		_ = response.Body.Close()
		if err == nil && response.StatusCode == http.StatusOK && document.Resource != "" {
			return document.Resource, strings.Join(document.Scopes, " ")
		}
	}
	return access.URL.String(), ""
}
