// Package tasks holds the rules on tasks, an experimental feature of 2025-11-25: a tool call may
// be answered with a task, whose result the client fetches later.
//
// The history of each task is reconstructed at the end of a conversation from all messages about
// it (see the ledger). Responses may overtake each other, so two observations of a task count as
// ordered only if one was requested after the other had come. Package shapes judges the shape of
// tasks, such as the types of their members.
package tasks

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
)

// Rules returns the rules of the package.
func Rules() []rules.Rule {
	return slices.Concat(
		declarationRules(),
		toolRules(),
		creationRules(),
		statusRules(),
		cancelRules(),
		resultRules(),
		listRules(),
		limitRules(),
		errorRules(),
		messageRules(),
		inputRules(),
		requestorRules(),
		removedRules(),
	)
}

// atEnd returns the Start of a rule that judges the ledger after the last event. It skips
// conversations whose handshake was not seen.
func atEnd(judge func(l *ledger, out *rules.Reporter)) func() rules.Fold {
	return rules.WithoutState(rules.Fold{
		Shared: []rules.SharedState{ledgers},
		AtEnd: func(s *rules.Session, out *rules.Reporter) {
			if s.Began() {
				judge(ledgers.Of(s).finish(s), out)
			}
		},
	})
}

// ledgers keeps the ledger of each conversation, which all rules of the package share.
var ledgers = &rules.Shared[*ledger]{Start: func() (l *ledger, before, after rules.Handlers) {
	l = &ledger{}
	return l, l.handlers(), nil
}}
