package rules

import "slices"

// Base returns the rules on messages, the handshake, stdio and ping.
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
