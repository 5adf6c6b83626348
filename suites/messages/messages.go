// Package messages checks how a server takes part in JSON-RPC: the ids of its
// answers, its silence to notifications and to stray responses, foreign metadata, long requests and, where the
// revision has them, batches.
package messages

import "github.com/mcp-conform/mcp-conform/internal/suite"

// Cases returns the cases of the area messages.
func Cases() []suite.Case {
	return []suite.Case{
		ids(),
		unknownNotifications(),
		oddNotifications(),
		foreignMeta(),
		batch(),
		damagedBatch(),
		long(),
		strayResponses(),
	}
}
