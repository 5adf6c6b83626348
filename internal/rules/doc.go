// Package rules holds the passive judges. A rule is a fold over a transcript,
// without clock or I/O, so that it judges a live conversation, a fuzzed one
// and a recorded one alike. It counts its subjects, so that "kept" and "never
// came up" differ.
//
// A rule is written as a value. Its Start returns a fresh Fold, which either
// hears messages by topic, or sees every event, or looks back at the end:
//
//	rules.Rule{
//		ID:           "rule.tools-listed",
//		Title:        "announced changes appear in the list",
//		Requirements: []string{toolsListAnswered},
//		Start: rules.Stateless(rules.Fold{Hear: rules.Hears{
//			rules.ErrorTo(spec.MethodToolsList): func(s *rules.Session, h *rules.Heard, out *rules.Out) { … },
//		}}),
//	}
//
// Topics are preferred: a fold that hears costs nothing for what is not its
// matter. What all rules need to know of the conversation (which requests are
// pending, what was declared, which revision was negotiated) is kept by the
// Session; what several rules need, and may be large, a Shared keeps for them;
// what only one rule needs it keeps itself, in the closure of Start.
//
// Over HTTP, Session.Exchanges has each request with its response. A message
// that HTTP brought before is none, nor is an error whose status refuses what
// was posted: both are matters of package streamablehttp.
//
// This package has the rules of messages, handshake, stdio and ping, which
// need to know the session from within. Those of the features are below it, in
// packages named as the specification groups its pages, and in files named
// after areas; package ruleset is the table of contents.
package rules
