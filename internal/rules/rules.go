package rules

import "slices"

// All returns all rules, area by area.
func All() []Rule {
	return slices.Concat(
		stdoutRules(),
		envelopeRules(),
		idRules(),
		answerRules(),
		errorRules(),
		metaRules(),
		lifecycleRules(),
		versionRules(),
		pingRules(),
	)
}
