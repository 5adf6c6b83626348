package faults

import "net/http"

// sseBodyFaults is like bodyFaults, but for HTTP with SSE.
func sseBodyFaults() []*Fault {
	const takes = "sse.accepts-post/"
	return []*Fault{
		newFault(takes+"long-body", "bodies of more than 32,000 bytes get 400", refusePosts(isLong, http.StatusBadRequest)),
		newFault(takes+"chunks", "chunked bodies get 400", refusePosts(isChunked, http.StatusBadRequest)),
		newFault(takes+"slow-body", "bodies that arrive slowly get 400", refuseSlowBodies(http.StatusBadRequest)),
		newFault(takes+"lower-case-names", "the server does not recognize a lower-case Content-Type header", hideHeaders("content-type")),
		newFault(takes+"kept-connection", "the rest of a body is read as the next request of the connection", editLaterRequests(prependBodyRest)),
		newFault(takes+"charset", "a content type with a charset gets 400", refusePosts(hasCharset, http.StatusBadRequest)),
	}
}
