package rules

import "slices"

// Base returns the rules of messages, of the handshake, of stdio and of ping.
func Base() []Rule {
	return slices.Concat(
		stdoutRules(),
		envelopeRules(),
		idRules(),
		responseRules(),
		errorRules(),
		metaRules(),
		lifecycleRules(),
		versionRules(),
		pingRules(),
	)
}
