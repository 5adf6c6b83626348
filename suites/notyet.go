package suites

// NotYet returns the testable requirements of the areas at hand that no case
// and no rule judges, or not yet, each with the reason.
func NotYet() map[string]string {
	return map[string]string{
		"lifecycle.request-timeouts": "needs a tool known to ask the client, and minutes of waiting",
		"lifecycle.timeout-cancels":  "needs a tool known to ask the client, and minutes of waiting",
		"stdio.one-message-per-line": "has nothing of its own to judge: an array is a matter of base.batch-not-emitted, two messages on a line of stdio.newline-delimited",
		"ping.periodic":              "the specification names no period, so the absence of pings shows nothing",
		"ping.timeout-is-failure":    "the specification names no period after which a ping has failed",

		"streamable-http.authentication": "needs to know who may use the server; openness alone is no fault",
		"sse.authentication":             "needs to know who may use the server; openness alone is no fault",

		"cancellation.completed-ignored": "has nothing of its own to judge: an end behind the cancellation is a matter of cancellation.race-handled, an answer to it of base.response-once and base.notification-no-response",
		"logging.set-level.default-free": "a permission: no message is judged by a level that was not set",
		"logging.stderr-alternative":     "a permission: what stands on stderr is never judged",

		"content.annotations.optional":     "a permission",
		"content.annotations.on-the-block": "a permission: neither place is wrong",
		"content.icons.owners":             "a permission",
		"content.icons.same-origin":        "over stdio a server has no origin, and over HTTP an address elsewhere is no fault",
		"content.title.optional":           "a permission",

		"tools.security.access-control":                     "needs two clients of different rights",
		"completion.security.access-control":                "needs two clients of different rights",
		"elicitation.absent-2024-11-05":                     "the same sentence and the same message as versioning.negotiated-version-respected-2024-11-05, which is judged",
		"elicitation.mode.empty-capability-means-form":      "what breaks it breaks elicitation.mode.supported-only, which weighs more",
		"elicitation.mode.form-may-be-omitted":              "a permission, made use of in every revision",
		"elicitation.form.string-pattern":                   "a permission that pages and schemas do not agree on",
		"elicitation.complete.may-send-2025-11-25":          "a permission: silence is as good",
		"elicitation.required-error.may-return-2025-11-25":  "a permission: any request may be refused so",
		"elicitation.required-error.code-2025-11-25":        "that an elicitation was needed shows in no other error",
		"elicitation.response.url-accept-is-not-completion": "what a tool does before the page was visited does not show that it took the visit for granted",
		"elicitation.state.bound-to-user":                   "needs two users who can be told apart",
		"elicitation.state.not-session-id-alone-2025-11-25": "needs two users who can be told apart",
		"elicitation.identity.bound":                        "needs two users who can be told apart",

		"resources.capability.features-optional":           "a permission: each flag may be there or not",
		"resources.uri.https-only-if-directly-fetchable":   "whether a page is there shows only to who fetches it, and addresses that a server names are not fetched from where the harness runs",
		"resources.mime.directory":                         "a permission",
		"resources.read.multiple-contents":                 "a permission",
		"resources.read.error-names-uri":                   "a permission",
		"resources.subscribe.update-may-name-sub-resource": "a permission",
		"resources.subscribe.unknown-uri":                  "a permission: refusing is as good as confirming",
		"resources.list-changed.unsolicited-allowed":       "a permission",
		"resources.security.access-control":                "needs two clients of different rights",
		"pagination.page-size.server-decides":              "a permission",
		"pagination.operations":                            "a permission",

		"tasks.list-pagination":                    "no size of a page is named, so that one page shows nothing",
		"tasks.http-rules-still-hold":              "has nothing of its own to judge: the rules on HTTP see the traffic of tasks, too",
		"tasks.auth-bound":                         "needs two users who can be told apart",
		"tasks.auth-foreign-rejected":              "needs two users who can be told apart",
		"tasks.auth-list-filtered":                 "needs two users who can be told apart",
		"tasks.requestor-poll-interval":            "needs a client that runs tasks",
		"tasks.requestor-polls-to-terminal":        "needs a client that runs tasks",
		"tasks.requestor-input-required":           "needs a client that runs tasks",
		"tasks.requestor-no-notification-reliance": "needs a client that runs tasks",
	}
}
