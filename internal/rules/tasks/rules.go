// Package tasks holds the rules on tasks, which 2025-11-25 tries out: tool
// calls that are answered with a task, by which their result can be asked for
// later.
//
// What tasks went through is put together at the end of a conversation, from
// all that was said of them (see the ledger). Two things that are said of a
// task are taken to be in order only where one was asked for after the other
// had come, as answers may overtake each other. Shapes of tasks, such as the
// types of their members, are judged by package shapes.
package tasks

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
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

// atEnd makes the start of a rule that looks back at all that was said of
// tasks. It says nothing of conversations whose handshake was not seen.
func atEnd(judge func(l *ledger, out *rules.Reporter)) func() rules.Fold {
	return func() rules.Fold {
		l := &ledger{}
		return rules.Fold{
			OnMessage: l.handlers(),
			AtEnd: func(s *rules.Session, out *rules.Reporter) {
				if s.Revision() == spec.V20251125 && s.Began() {
					judge(rules.Memo(s, ledgerKey{}, func() *ledger { l.read(s); return l }), out)
				}
			},
		}
	}
}

// ledgerKey is that of the ledger, which all rules of the package have in common.
type ledgerKey struct{}
