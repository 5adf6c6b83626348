// Package base checks how a server takes part in JSON-RPC: the ids of its
// responses, its silence to notifications and to stray responses, foreign
// metadata, long requests, batches where the revision has them, what it says to
// requests that it can't serve and to lines that are no messages at all, and
// what becomes of many requests at once.
package base

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// Cases returns the cases of the area base.
func Cases() []suite.Case {
	return slices.Concat([]suite.Case{
		idCase(),
		unknownNotificationCase(),
		oddNotificationCase(),
		foreignMetaCase(),
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
