package faults

// A Contradiction describes statements of one handshake revision that contradict each other, and
// lists the legal variations that follow one of these statements.
type Contradiction struct {
	What       string   // one sentence
	Variations []string // the names of the variations, without "legal/"
	Why        string   // the reason if there is no variation
}

// Contradictions returns the contradictions within the handshake revisions. For these, a
// check may report a note, but nothing more severe.
func Contradictions() []Contradiction {
	is := func(what string, variations ...string) Contradiction {
		return Contradiction{What: what, Variations: variations}
	}
	return []Contradiction{
		is("The text says that an unknown version at initialize gets another version, and an example has error -32602.", "counter-offer-as-error"),
		is("An error for an unreadable message has the id null in JSON-RPC, and no id in the schema.", "null-error-id"),
		is("The body of a response is one JSON object, but the response to a batch is an array.", "http-json-only"),
		is("The endpoint must support GET, and may respond to it with 405.", "http-get-405", "http-get-405-streams"),
		is("A call that should have been a task gets -32601 in one place, and -32600 in another.", "tasks-demanded"),
		is("One page of the specification says that lists of templates are paginated, and another that they are not.", "one-page", "uneven-pages"),
		is("Only the schemas define resources/unsubscribe.", "no-unsubscribe"),
		is("Annotations of embedded resources are inside the resource in examples, and on the block in the schema.", "annotations-on-the-resource"),
		{What: "Ids are numbers in TypeScript, and integers in the text and in JSON Schema.", Why: "the text has a keyword for integers, so a fraction breaks base.request-id-type"},
		is("Error -32042 is a MAY and a MUST for the same case.", "visit-first"),
	}
}
