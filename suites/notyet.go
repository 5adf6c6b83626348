package suites

// NotYet returns the testable requirements of the areas at hand that no case
// and no rule judges, or not yet, each with the reason.
func NotYet() map[string]string {
	return map[string]string{
		"base.json-schema-2020-12":   "needs a tool whose schema uses what only that dialect has",
		"lifecycle.request-timeouts": "needs a tool known to ask the client, and minutes of waiting",
		"lifecycle.timeout-cancels":  "needs a tool known to ask the client, and minutes of waiting",
		"stdio.one-message-per-line": "has nothing of its own to judge: an array is a matter of base.batch-not-emitted, two messages on a line of stdio.newline-delimited",
		"ping.periodic":              "the specification names no period, so the absence of pings shows nothing",
		"ping.timeout-is-failure":    "the specification names no period after which a ping has failed",

		"tools.security.access-control":                "needs the HTTP transports, and two clients of different rights",
		"completion.security.access-control":           "needs the HTTP transports, and two clients of different rights",
		"prompts.security.validate-inputs-and-outputs": "needs a prompt known to read what its arguments name",
	}
}
