package faults

import "net/http"

// legacyBodyFaults are the same over HTTP with SSE.
func legacyBodyFaults() []Fault {
	const takes = "sse.accepts-post/"
	return []Fault{
		breaks(takes+"long-body", "bodies of some length get 400", turnsAway(isLong, http.StatusBadRequest)),
		breaks(takes+"chunks", "bodies in chunks get 400", turnsAway(isChunked, http.StatusBadRequest)),
		breaks(takes+"slow-body", "bodies that come slowly get 400", slowRefused(http.StatusBadRequest)),
		breaks(takes+"lower-case-names", "a content type whose name is in lower case is not found", unread("content-type")),
		breaks(takes+"kept-connection", "what is left of a body is taken for the next request on the connection", nextRequests(behindABody)),
		breaks(takes+"charset", "a content type with a charset gets 400", turnsAway(hasCharset, http.StatusBadRequest)),
	}
}
