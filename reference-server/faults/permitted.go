package faults

import "github.com/mcp-conform/mcp-conform/internal/spec"

// Permission is something that the specification leaves open, and the legal
// variations that make use of it.
type Permission struct {
	// What is the id of a MAY, or a sentence on a contradiction.
	What       string
	Variations []string // their names, without "legal/"
	Why        string   // there are none
}

const (
	clientsOwn = "a permission of the client's, of which it is the harness that makes use"
	notSent    = "no case sends what a client must not"
)

// Permissions returns those that stand in the catalogue as a MAY of a
// handshake revision that can be tested.
func Permissions() []Permission {
	may := func(id string, variations ...string) Permission { return Permission{What: id, Variations: variations} }
	not := func(id, why string) Permission { return Permission{What: id, Why: why} }
	return []Permission{
		may("base.batch-response-array", "batch-answers-apart"),
		may("base.batch-refused-when-undefined", "batch-ignored", "batch-taken-apart"),
		not("base.meta-foreign-keys-accepted", clientsOwn),
		may("completion.capability.none-2024-11-05", "no-completion"),
		may("completion.unknown-template", "unknown-templates-completed"),
		may("completion.unknown-argument", "unknown-arguments-refused"),
		may("content.data.matches-mime-type", "another-type", "empty-base64"),
		may("content.annotations.optional", "bare-resources", "annotations-empty"),
		may("content.annotations.on-the-block", "annotations-on-the-resource"),
		may("content.icons.owners", "icons-odd"),
		may("content.icons.same-origin", "icons-odd"),
		may("content.icons.type-supported", "icons-odd"),
		may("content.title.optional", "no-titles"),
		may("elicitation.mode.form-may-be-omitted", "form-by-name"),
		may("elicitation.form.string-pattern", "form-dialect"),
		may("elicitation.form.defaults-2025-06-18", "ahead-2025-06-18"),
		may("elicitation.complete.may-send-2025-11-25", "page-at-home"),
		may("elicitation.required-error.may-return-2025-11-25", "visit-first"),
		may("lifecycle.request-before-initialize", "serves-before-initialize", "silent-before-initialize"),
		may("lifecycle.reinitialize-undefined", "reinitialize-served"),
		may("logging.set-level.default-free", "logs-of-any-level-at-first"),
		may("logging.stderr-alternative", "logs-on-stderr", "stderr-chatter"),
		may("pagination.page-size.server-decides", "uneven-pages", "empty-page"),
		may("pagination.operations", "one-page"),
		may("prompts.list-changed.unsolicited-allowed", "lists-change-often"),
		may("prompts.message.resource-link", "prompt-with-link"),
		may("resources.capability.features-optional", "resources-without-subscriptions", "resources-without-changes", "resources-flags-false"),
		may("resources.mime.directory", "directory", "mime-types"),
		may("resources.read.multiple-contents", "several-contents", "directory"),
		may("resources.read.error-names-uri", "not-found-by-name"),
		may("resources.subscribe.update-may-name-sub-resource", "updates-below"),
		may("resources.subscribe.unknown-uri", "any-subscription"),
		may("resources.list-changed.unsolicited-allowed", "resources-change"),
		not("tasks.ttl-optional-in-request", clientsOwn),
		may("tasks.model-immediate-response", "tasks-with-response"),
		may("tools.list-changed.unsolicited-allowed", "list-changed-first", "lists-change-often"),
		may("tools.description.optional", "bare-tools"),
		may("tools.call.is-error-absent-means-success", "is-error-false"),
		may("tools.structured.without-output-schema", "structured-without-schema"),
		may("tools.embedded-resource.refetchable-2024-11-05", "embedded-once"),
		may("tools.resource-link.need-not-be-listed", "bare-link"),
		may("tools.annotations.dependent-hints", "hints-odd"),
		may("stdio.responses-before-exit", "hasty-exit"),
		may("stdio.interleaving", "out-of-order"),
		not("streamable-http.origin-absent-allowed", clientsOwn),
		may("streamable-http.origin-403-body", "http-refusals-in-html", "http-refusals-bare"),
		may("streamable-http.rejected-body", "http-refusals-in-html", "http-refusals-bare"),
		may("streamable-http.sse-polling-close", "stream-polling"),
		not("streamable-http.concurrent-streams", clientsOwn),
		may("streamable-http.last-event-id-replay", "stream-no-ids", "http-get-405-streams", "http-last-event-ignored"),
		may("streamable-http.session-delete", "http-delete-200", "http-delete-202", "http-delete-405"),
		not("streamable-http.version-header-mismatch", "it shows only to a client that has seen the server speak several revisions; both ways are passed"),
		not("streamable-http.batch-mixed", notSent),
		may("streamable-http.jsonrpc-error-status", "http-error-status"),
		may("versioning.initialize-unsupported-error", "counter-offer-as-error"),
	}
}

// Contradictions returns the places where the handshake revisions contradict
// themselves: a check may note what a server makes of them, and no more.
func Contradictions() []Permission {
	is := func(what string, variations ...string) Permission {
		return Permission{What: what, Variations: variations}
	}
	return []Permission{
		is("An unknown version at initialize gets a counter-offer in the text, and error -32602 in the example.", "counter-offer-as-error"),
		is("An error to what can't be read has the id null in JSON-RPC, and none in the schema.", "null-error-id"),
		is("The body of a response is one JSON object, though the answers to a batch are an array.", "http-json-only"),
		is("A GET has to be supported, and may get 405.", "http-get-405", "http-get-405-streams"),
		is("A call that should have been a task gets -32601 in one place, and -32600 in another.", "tasks-demanded"),
		is("One page on resources drops the pages of templates, another keeps them.", "one-page", "uneven-pages"),
		is("resources/unsubscribe stands in the schemas alone.", "no-unsubscribe"),
		is("Annotations of embedded resources stand inside the resource in examples, and on the block in the schema.", "annotations-on-the-resource"),
		{What: "Ids are numbers in TypeScript, and integers in the text and in JSON Schema.", Why: "the text has a keyword for integers, so that a fraction breaks it: base.request-id-type"},
		is("Error -32042 is a MAY and a MUST for the same case.", "visit-first"),
	}
}

// legalPermitted are the variations that no other table has.
func legalPermitted() []Fault {
	return []Fault{
		legal("another-type", "images are said to be of a type that they are not", together(inTools("image", put("mimeType", "image/jpeg")), inPrompts("image", put("mimeType", "image/webp")))),
		legal("prompt-with-link", "a prompt holds a link to a resource that is listed nowhere", EditResult(spec.MethodPromptsGet, func(r map[string]any) {
			r["messages"] = append(r["messages"].([]any), map[string]any{
				"role": "user", "content": map[string]any{"type": "resource_link", "uri": "demo://elsewhere", "name": "elsewhere"},
			})
		})).in(from(spec.V20250618)...),
		legal("embedded-once", "what tools embed can't be read later", inTools("resource", inside("resource", put("uri", "demo://of-the-moment/1")))),
		legal("no-unsubscribe", "resources/unsubscribe is unknown, and subscriptions last as long as the session",
			refuse(spec.MethodResourcesUnsubscribe, session, spec.CodeMethodNotFound, "Method not found")),
	}
}
