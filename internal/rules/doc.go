// Package rules holds the passive judges. A rule is a fold over a transcript, without clock or
// I/O, so that it judges live, fuzzed and recorded conversations alike. It counts how often each
// requirement was observed, so that "kept" and "never observed" differ.
//
// A rule is a value. Its Start returns a fresh Fold, which handles messages by topic, or every
// event, or the whole session at its end:
//
//	rules.Rule{
//		ID:           "rule.tools-listed",
//		Title:        "announced changes appear in the list",
//		Requirements: []string{toolsListAnswered},
//		Start: rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{
//			rules.ErrorTo(spec.MethodToolsList): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) { … },
//		}}),
//	}
//
// Prefer topics: messages of other topics then cost nothing. The Session keeps the state that all
// rules need, in parts. Those that most rules read are embedded, so that their methods are the
// session's:
//
//   - Requests: the requests of both sides with their responses, and the HTTP exchanges
//   - Negotiation: the revision, and the capabilities of both sides
//   - Versions: in the stateless era, the messages to which the revision applies
//   - Ending: whether either side can still send anything
//
// The others are fields: Sent (what the server may be unable to read), Waits (missing responses),
// Disruptions (what the server has to survive), and Headers and Rounds (in the stateless era only).
// A part that needs others has pointers to them.
//
// A Shared keeps state that several rules need and that may be large. State of a single rule is in
// the closure of its Start.
//
// Rules on messages see neither a second delivery of the same message nor an error whose HTTP
// status refuses the request: package streamablehttp judges both.
//
// This package has the rules of messages, handshake, stdio and ping, which need the internals of
// the session's parts. The subpackages have the other rules, grouped by what they read. Package
// ruleset lists all rules.
package rules
