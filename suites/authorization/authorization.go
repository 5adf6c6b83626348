// Package authorization judges how a server protects itself (basic/authorization): how it refuses
// requests without a token and with wrong ones, what its challenges and its metadata documents say,
// and whether it checks the token of every request. Most cases need no token.
//
// The requests are sent outside of the conversation, see prober.
package authorization

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// The requirements.
const (
	noToken         = "authorization.no-token.401"
	noTokenGet      = "authorization.no-token.401-on-get"
	noTokenDelete   = "authorization.no-token.401-on-delete"
	everyRequest    = "authorization.every-request"
	bearerAccepted  = "authorization.token.bearer-header-accepted"
	garbage         = "authorization.token.garbage-401"
	otherIssuer     = "authorization.token.other-issuer-refused"
	expired         = "authorization.token.expired-401"
	audience        = "authorization.token.audience-checked"
	notPassedOn     = "authorization.token.no-passthrough"
	passthrough     = "security.token-passthrough" // in 2025-03-26
	scopeStatus     = "authorization.insufficient-scope.403"
	scopeChallenge  = "authorization.insufficient-scope.challenge"
	scopeNamed      = "authorization.insufficient-scope.scope-param"
	scopeSteady     = "authorization.insufficient-scope.consistent"
	scopeAtOnce     = "authorization.insufficient-scope.all-at-once"
	scopeMetadata   = "authorization.insufficient-scope.resource-metadata"
	queryUnused     = "authorization.token.query-not-used"
	cookieUnused    = "authorization.token.cookie-not-used"
	checkedFirst    = "authorization.token.checked-before-processing"
	malformed       = "authorization.malformed-request.400"
	hasChallenge    = "authorization.www-authenticate.present"
	challengeSyntax = "authorization.www-authenticate.syntax"
	namesMetadata   = "authorization.www-authenticate.resource-metadata-2025-06-18"
	resolves        = "authorization.www-authenticate.resource-metadata-resolves"
	challengeScope  = "authorization.www-authenticate.scope"
	scopeConsistent = "authorization.www-authenticate.scope-consistent"
	invalidToken    = "authorization.www-authenticate.invalid-token-error"
	noErrorCode     = "authorization.www-authenticate.no-error-without-token"
	noOffline       = "authorization.www-authenticate.no-offline-access"

	discoverable      = "authorization.prm.discoverable-2025-11-25"
	served            = "authorization.prm.served"
	public            = "authorization.prm.public"
	isJSON            = "authorization.prm.json"
	namesServers      = "authorization.prm.authorization-servers"
	serverURLs        = "authorization.prm.authorization-server-urls"
	resource          = "authorization.prm.resource"
	canonical         = "authorization.prm.resource-canonical"
	noSlash           = "authorization.prm.resource-no-trailing-slash"
	noQueryMethod     = "authorization.prm.no-query-method"
	noOfflineScope    = "authorization.prm.no-offline-access"
	secureConnections = "authorization.https"

	rootMetadata     = "authorization.as.metadata-2025-03-26"
	rootOnly         = "authorization.as.metadata-at-origin-2025-03-26"
	rootHTTPS        = "authorization.as.https-2025-03-26"
	rootRegistration = "authorization.as.dynamic-registration-2025-03-26"
	serverMetadata06 = "authorization.as.metadata-2025-06-18"
	serverMetadata11 = "authorization.as.metadata-2025-11-25"
	serverPKCE       = "authorization.as.pkce-advertised-2025-11-25"
	serverHTTPS      = "authorization.as.https-2025-06-18"
	registration     = "authorization.as.dynamic-registration-2025-06-18"
	clientDocuments  = "authorization.as.client-id-metadata-2025-11-25"
	issParameter     = "authorization.as.iss-parameter-2026-07-28"

	urlSchemes        = "security.metadata.url-schemes"
	internalAddresses = "security.metadata.internal-addresses"
)

// sinceResourceMetadata are the revisions in which a protected resource has metadata.
var sinceResourceMetadata = []spec.Revision{spec.V20250618, spec.V20251125, spec.V20260728}

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:    "authorization.without-token",
			Title: "Sends requests without a token, and reads the challenge of the refusals",
			Requirements: []string{
				noToken, noTokenGet, checkedFirst, hasChallenge, challengeSyntax, namesMetadata, challengeScope, scopeConsistent, noErrorCode, noOffline,
			},
			Unauthenticated: true,
			Run:             sendWithoutToken,
		},
		{
			ID:              "authorization.wrong-tokens",
			Title:           "Sends made-up tokens, and malformed Authorization headers",
			Requirements:    []string{garbage, otherIssuer, malformed, invalidToken, hasChallenge, checkedFirst},
			Unauthenticated: true,
			Run:             sendWrongTokens,
		},
		{
			ID:    "authorization.resource-metadata",
			Title: "Looks for the metadata document of the protected resource, and reads it",
			Requirements: []string{
				discoverable, served, public, isJSON, resolves, namesServers, serverURLs, resource, canonical, noSlash, noQueryMethod, noOfflineScope, secureConnections,
				urlSchemes, internalAddresses,
			},
			Revisions:       sinceResourceMetadata,
			Unauthenticated: true,
			Run:             readResourceMetadata,
		},
		{
			ID:              "authorization.server-metadata",
			Title:           "Reads the metadata documents of the authorization servers that the resource names",
			Requirements:    []string{serverMetadata06, serverMetadata11, serverPKCE, serverHTTPS, registration, clientDocuments, issParameter, urlSchemes, internalAddresses},
			Revisions:       sinceResourceMetadata,
			Unauthenticated: true,
			Run:             readServerMetadata,
		},
		{
			ID:              "authorization.server-metadata-at-root",
			Title:           "Reads the metadata document of the authorization server at the root of the host",
			Requirements:    []string{rootMetadata, rootOnly, rootHTTPS, rootRegistration, urlSchemes, internalAddresses},
			Revisions:       []spec.Revision{spec.V20250326},
			Unauthenticated: true,
			Run:             readRootMetadata,
		},
		{
			ID:              "authorization.issued-tokens",
			Title:           "Sends tokens of an authorization server that the server trusts: expired, for another resource, signed by another key, without scope",
			Requirements:    []string{expired, audience, passthrough, otherIssuer, garbage, scopeStatus, scopeChallenge, scopeNamed, scopeMetadata, scopeSteady, scopeAtOnce},
			Unauthenticated: true,
			Run:             useIssuedTokens,
		},
		{
			ID:           "authorization.upstream",
			Title:        "Calls tools, and looks for the token in what the server sends to the service that it calls",
			Requirements: []string{notPassedOn},
			Run:          watchUpstream,
		},
		{
			ID:           "authorization.session-requests",
			Title:        "Opens a session with the token, and sends requests of the session without it",
			Requirements: []string{everyRequest, noTokenDelete, queryUnused, cookieUnused, bearerAccepted, checkedFirst},
			Run:          useSessionWithoutToken,
		},
	}
}
