package faults

// Unshown says why no fault breaks a requirement.
type Unshown struct {
	Reason string
	// Elsewhere is the requirement whose faults show this one, too; empty
	// where nothing shows it.
	Elsewhere string
}

// NotShown returns the testable requirements of the handshake revisions that
// no fault breaks, authorization and security excepted.
func NotShown() map[string]Unshown {
	out := map[string]Unshown{
		"stdio.one-message-per-line": {
			"an array is a matter of base.batch-not-emitted, two messages on a line of stdio.newline-delimited", "base.batch-not-emitted",
		},
		"cancellation.completed-ignored": {
			"a server that ends of it, or falls silent, is a matter of cancellation.race-handled", "cancellation.race-handled",
		},
		"elicitation.absent-2024-11-05": {
			"the same message as that of versioning.negotiated-version-respected-2024-11-05", "versioning.negotiated-version-respected-2024-11-05",
		},
		"elicitation.mode.empty-capability-means-form": {
			"what breaks it breaks elicitation.mode.supported-only, which weighs more", "elicitation.mode.supported-only",
		},
		"tasks.http-rules-still-hold": {
			"the messages of tasks break the rules of HTTP as all others do", "streamable-http.get-no-response",
		},
	}
	for reason, ids := range map[string][]string{
		"no period is named, so that a server that never pings breaks nothing":                                {"ping.periodic"},
		"no period is named after which a ping has failed":                                                    {"ping.timeout-is-failure"},
		"no size of a page is named, so that one page is as right":                                            {"tasks.list-pagination"},
		"that an elicitation was needed shows in no other error":                                              {"elicitation.required-error.code-2025-11-25"},
		"a page that is not there shows only to who fetches it, and the harness fetches nothing from the web": {"resources.uri.https-only-if-directly-fetchable"},
		"what a tool does before the page was visited does not show that it took the visit for granted":       {"elicitation.response.url-accept-is-not-completion"},
		"comes with authorization: the reference server does not know its users, so that none can be refused": users(),
		"the reference server asks for nothing as a task, which no client of the harness could run so far": {
			"tasks.requestor-poll-interval", "tasks.requestor-polls-to-terminal", "tasks.requestor-input-required", "tasks.requestor-no-notification-reliance",
		},
	} {
		for _, id := range ids {
			out[id] = Unshown{Reason: reason}
		}
	}
	return out
}

// users are the requirements that are about who a user is.
func users() []string {
	return []string{
		"streamable-http.authentication", "sse.authentication",
		"tools.security.access-control", "completion.security.access-control", "resources.security.access-control",
		"elicitation.state.bound-to-user", "elicitation.state.not-session-id-alone-2025-11-25", "elicitation.identity.bound",
		"tasks.auth-bound", "tasks.auth-foreign-rejected", "tasks.auth-list-filtered",
	}
}
