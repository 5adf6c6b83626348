package login

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// ensureClient returns the client with which a user logs in: the given one, or one that is
// registered for this login (MCP, basic/authorization/client-registration).
func (s *Server) ensureClient(ctx context.Context, given Client, redirect string) (Client, error) {
	const advice = "register a client for mcp-conform there, and pass its id with --client-id"
	switch {
	case strings.HasPrefix(given.ID, "https://") && !s.documents:
		return Client{}, &Error{fmt.Sprintf("the metadata of the authorization server %s does not announce client id metadata documents", s.Issuer), advice}
	case given.ID != "":
		return given, nil
	case s.RegistrationURL == "":
		return Client{}, &Error{fmt.Sprintf("the authorization server %s does not support dynamic client registration", s.Issuer), advice}
	}
	client, err := s.register(ctx, redirect, strings.Join(s.scopesToRequest(), " "))
	if errors.Is(err, errMetadata) {
		// Some authorization servers reject scopes at registration although they later grant them
		// for a resource.
		client, err = s.register(ctx, redirect, "")
	}
	if err != nil {
		return Client{}, newError(ctx, fmt.Sprintf("the authorization server %s did not register a client: %v", s.Issuer, err), advice)
	}
	return client, nil
}

// errMetadata is the error if an authorization server rejects the metadata of a client (RFC 7591,
// section 3.2.2).
var errMetadata = errors.New("invalid_client_metadata")

// register registers a client (RFC 7591). Without a scope, the authorization server may use a
// default (section 2).
func (s *Server) register(ctx context.Context, redirect, scope string) (Client, error) {
	about := map[string]any{
		"client_name": "mcp-conform", "redirect_uris": []string{redirect}, "application_type": "native",
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": s.registeredMethod(),
	}
	if scope != "" {
		about["scope"] = scope
	}
	body, err := json.Marshal(about)
	if err != nil {
		return Client{}, err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, s.RegistrationURL, bytes.NewReader(body))
	if err != nil {
		return Client{}, err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json")
	response, err := withTimeout(s.HTTP).Do(q)
	if err != nil {
		return Client{}, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		ID          string `json:"client_id"`
		Secret      string `json:"client_secret"`
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	err = json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(&answer)
	switch {
	case response.StatusCode/100 == 2:
	case answer.Error == errMetadata.Error():
		return Client{}, fmt.Errorf("%s %w %s", response.Status, errMetadata, wire.Excerpt(answer.Description, maxText))
	default:
		return Client{}, errors.New(wire.Excerpt(strings.TrimSpace(strings.Join([]string{response.Status, answer.Error, answer.Description}, " ")), maxText))
	}
	if err == nil && answer.ID == "" {
		err = fmt.Errorf("its response has no client_id")
	}
	return Client{answer.ID, answer.Secret}, err
}

// registeredMethod returns the authentication method for the token endpoint with which a client is
// registered: "none" if the authorization server permits public clients, names no methods, or names
// neither client_secret_basic nor client_secret_post; otherwise the first of these two that it
// names.
func (s *Server) registeredMethod() string {
	if len(s.methods) == 0 || slices.Contains(s.methods, "none") {
		return "none"
	}
	for _, m := range []string{"client_secret_basic", "client_secret_post"} {
		if slices.Contains(s.methods, m) {
			return m
		}
	}
	return "none"
}
