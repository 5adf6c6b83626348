// Package stateless holds the rules on what is new in the stateless era, which begins with
// 2026-07-28: metadata in every request, server/discover, result types, caching, multi round-trip
// requests and subscriptions.
//
// Each request is judged by the version and the capabilities that it declares. Requests that name
// another version, or none, are judged only by the requirements on such requests, because a server
// may support handshake revisions too.
package stateless

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Rules returns the rules of the package.
func Rules() []rules.Rule {
	return slices.Concat(
		resultRules(),
		metadataRules(),
		capabilityRules(),
		errorRules(),
		versionRules(),
		discoverRules(),
		removedRules(),
		requestRules(),
		cachingRules(),
		inputRules(),
		retryRules(),
		subscriptionRules(),
		deprecationRules(),
	)
}

// isFirstResponse reports whether a message is the first response to a request of the stateless
// era, and complete in the transcript.
func isFirstResponse(s *rules.Session, obs *rules.Observation) bool {
	return s.Era() == spec.Stateless && obs.Request.Responses[0].Message == obs.Message && !obs.Event.IsCut()
}

// isJudged is like isFirstResponse, but the revision by which the conversation is judged must also
// apply to the request.
func isJudged(s *rules.Session, obs *rules.Observation) bool {
	return isFirstResponse(s, obs) && s.AppliesTo(obs.Request)
}

// isRegular reports whether the message is the first response to a request of the stateless era,
// and depends only on the method and its params (see rules.Request.IsRegular).
func isRegular(s *rules.Session, obs *rules.Observation) bool {
	return isFirstResponse(s, obs) && obs.Request.IsRegular()
}

// deviationOf returns a deviation with a request and its response as evidence.
func deviationOf(requirement string, obs *rules.Observation) verdict.Deviation {
	return verdict.Deviation{Requirement: requirement, Seen: rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Request.Event, obs.Event)}
}

// codeOf returns the code of an error, 0 if it has no integer code.
func codeOf(obs *rules.Observation) spec.Code {
	n, _ := obs.Message.ErrorCode()
	return spec.Code(n)
}

// statusOf returns the HTTP status of the response, 0 over stdio.
func statusOf(obs *rules.Observation) int {
	if obs.Request.Exchange == nil {
		return 0
	}
	return obs.Request.Exchange.Status()
}
