// Package rules holds the passive judges. A rule is a fold over a transcript,
// without clock or I/O, so that it judges a live conversation, a fuzzed one
// and a recorded one alike. It counts how often each requirement came up, so
// that "kept" and "never came up" differ.
//
// A rule is written as a value. Its Start returns a fresh Fold, which handles
// messages by topic, or every event, or the whole session at its end:
//
//	rules.Rule{
//		ID:           "rule.tools-listed",
//		Title:        "announced changes appear in the list",
//		Requirements: []string{toolsListAnswered},
//		Start: rules.Stateless(rules.Fold{OnMessage: rules.Handlers{
//			rules.ErrorTo(spec.MethodToolsList): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) { … },
//		}}),
//	}
//
// Prefer topics: messages of other topics then cost nothing. The Session keeps
// what all rules need to know of the conversation (which requests are pending,
// what was declared, which revision was negotiated). A Shared keeps what
// several rules need and what may be large. What only one rule needs, it keeps
// itself, in the closure of Start.
//
// Over HTTP, Session.Exchanges returns each request with its response. A message
// that was delivered before is left out, and so is an error whose status refuses
// the request: package streamablehttp judges both.
//
// This package has the rules of messages, handshake, stdio and ping, which
// need the internals of Session. The rules of features are in the packages below,
// which are named as the specification groups its pages, in files named after
// areas. Package ruleset lists all rules.
package rules
