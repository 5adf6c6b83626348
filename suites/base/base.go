// Package base checks how a server takes part in JSON-RPC: the ids of its responses, its silence
// after notifications and unmatched responses, foreign metadata, long requests, batches if the
// revision has them, its errors for requests that it can't serve and for malformed lines, and
// many requests at once.
package base

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// Cases returns the cases of the area base.
func Cases() []suite.Case {
	return slices.Concat([]suite.Case{
		idCase(),
		aloneCase(),
		unknownNotificationCase(),
		oddNotificationCase(),
		foreignMetaCase(),
		traceCase(),
		batchCase(),
		damagedBatchCase(),
		longRequestCase(),
		unmatchedReplyCase(),
		unknownMethodCase(),
		invalidParamsCase(),
		invalidInitializeCase(),
		malformedCase(),
		manyErrorsCase(),
	}, concurrentCases())
}
