package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// Valid params of elicitation/create, in form mode and in URL mode.
const (
	aForm = `{"message":"What is it?","requestedSchema":{"type":"object","properties":{"it":{"type":"string"}}}}`
	aPage = `{"mode":"url","message":"Please look.","elicitationId":"e1","url":"https://example.com/"}`
)

// elicitationFaults returns the faults of a server that sends elicitation/create at a
// time, or with content, that the specification forbids.
func elicitationFaults() []*Fault {
	const undeclared, mode = "elicitation.requires-client-capability-2025-06-18/", "elicitation.mode.supported-only/"
	const sensitive, credentials, links = "elicitation.form.no-sensitive-information-2025-06-18/", "elicitation.form.no-credentials-2025-11-25/",
		"elicitation.form.no-clickable-urls/"
	const https, secret, unique, known = "elicitation.url.https/", "elicitation.url.no-sensitive-data/", "elicitation.url.id-unique-2025-11-25/",
		"elicitation.complete.known-id-2025-11-25/"
	newer := []spec.Revision{spec.V20250618, spec.V20251125}
	form := func(message, field, schema string) *refserver.Seams {
		return requestIfDeclared("elicitation", spec.MethodElicit, rawJSON(`{"message":`+message+`,"requestedSchema":{"type":"object","properties":{`+field+`:`+schema+`}}}`))
	}
	page := func(url string) *refserver.Seams {
		return requestIf(declares("elicitation", "url"), spec.MethodElicit, rawJSON(`{"mode":"url","message":"Please look.","elicitationId":"e1","url":`+url+`}`))
	}
	demands := func(url string) *refserver.Seams {
		return wrapTool("ask-elicitation-required", func(*refserver.Call, Handler) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: spec.CodeURLElicitation, Message: "A page has to be visited first", Data: rawJSON(
				`{"elicitations":[{"mode":"url","message":"Please look.","elicitationId":"e1","url":` + url + `}]}`)}
		})
	}
	forms, pages := allOf(declares("elicitation"), doesNotDeclare("elicitation", "url")), allOf(declares("elicitation", "url"), doesNotDeclare("elicitation", "form"))
	return []*Fault{
		newFault(undeclared+"unprompted", "the server sends elicitation/create without the client's capability", requestIf(doesNotDeclare("elicitation"), spec.MethodElicit, rawJSON(aForm))).inRevisions(newer...),
		newFault(undeclared+"by-tool", "a tool sends elicitation/create without the client's capability",
			sendFromTool("ask-elicitation", doesNotDeclare("elicitation"), spec.MethodElicit, rawJSON(aForm))).inRevisions(newer...),
		newFault(mode+"page", "the server uses url mode although the client declared only form", sendFromTool("ask-elicitation-url", forms, spec.MethodElicit, rawJSON(aPage))),
		newFault(mode+"form", "the server uses form mode although the client declared only url", sendFromTool("ask-elicitation", pages, spec.MethodElicit, rawJSON(aForm))),
		newFault(mode+"form-input", "the server requires a form from a client that declares only url mode", assumeMode("form", "url")).inRevisions(spec.V20260728),
		newFault(mode+"page-input", "the server requires a URL elicitation from a client that declares only form mode", assumeMode("url", "")).inRevisions(spec.V20260728),
		newFault(mode+"required", "a call demands a URL elicitation although the client did not declare url mode", demands(`"https://example.com/"`)),

		newFault(sensitive+"password", "a form asks for a password", form(`"Please log in."`, `"password"`, `{"type":"string"}`)).inRevisions(spec.V20250618),
		newFault(credentials+"api-key", "a form asks for an API key", form(`"Which key is to be used?"`, `"apiKey"`, `{"type":"string"}`)).inRevisions(spec.V20251125),
		newFault(credentials+"card", "a form asks for a credit card number", form(`"How do you want to pay?"`, `"credit-card-number"`, `{"type":"string","title":"Card"}`)).inRevisions(spec.V20251125),
		newFault(links+"message", "the message of a form contains a link", form(`"Please visit http://docs.acme.com/terms first."`, `"agreed"`, `{"type":"boolean"}`)),
		newFault(links+"description", "the description of a form field contains a link", form(`"Do you agree?"`, `"agreed"`, `{"type":"boolean","description":"See https://docs.acme.com/terms."}`)),

		newFault(https+"http", "the URL of an elicitation is http", page(`"http://acme.com/connect"`)),
		newFault(https+"other-scheme", "the URL of an elicitation has a custom scheme", page(`"acme://connect"`)),
		newFault(https+"required", "the URL of a required elicitation is http", demands(`"http://acme.com/connect"`)),
		newFault(secret+"password", "the URL of an elicitation contains a password", page(`"https://ada:lovelace@acme.com/connect"`)),
		newFault(unique+"constant", "all elicitations by URL have the same elicitationId", combineSeams(
			editSentParams(spec.MethodElicit, ifHas("elicitationId", setValue("elicitationId", "visit"))),
			editSentParams(spec.MethodElicitDone, setValue("elicitationId", "visit")))),
		newFault(known+"made-up", "elicitation/complete has an unknown elicitationId", notifyOnInitialized(spec.MethodElicitDone, `{"elicitationId":"made-up"}`)),
		newFault(known+"other", "elicitation/complete has another elicitationId than the request", editSentParams(spec.MethodElicitDone, func(p map[string]any) {
			p["elicitationId"] = "visit/" + p["elicitationId"].(string)
		})),
		newFault(known+"early", "elicitation/complete is sent before the request", EditOutgoing(
			func(o *refserver.Out) bool { return IsServerRequest(o) && o.Method == spec.MethodElicit }, func(o *refserver.Out) {
				if id := wire.At(wire.Parse(o.Frames[0]).Messages[0].Params(), "/elicitationId"); id != nil {
					done := wire.NewNotification(spec.MethodElicitDone, map[string]any{"elicitationId": id})
					o.Frames = append([][]byte{done}, o.Frames...)
				}
			})),
	}
}

// elicitationResponseFaults returns the faults of a server that handles user responses incorrectly.
func elicitationResponseFaults() []*Fault {
	const actions, failure, visit = "elicitation.response.all-actions-handled-2025-06-18/", "elicitation.response.client-error-handled/",
		"elicitation.response.url-accept-without-content/"
	const stateless = "elicitation.response.all-actions-handled-2026-07-28/"
	on := func(when func(m *wire.Message) bool, then func(*refserver.Session, []byte) refserver.FrameAction) func() *refserver.Seams {
		return onClientResponse(spec.MethodElicit, when, then)
	}
	code := func(code int64) func(m *wire.Message) bool {
		return func(m *wire.Message) bool {
			got, ok := m.ErrorCode()
			return ok && got == code
		}
	}
	return []*Fault{
		newFaultWithState(actions+"decline-dies", "the action decline ends the process", on(resultHasText("/action", "decline"), exitWith(1))),
		newFaultWithState(actions+"decline-hangs", "the server ignores a response with the action decline", on(resultHasText("/action", "decline"), dropFrame)),
		newFaultWithState(actions+"cancel-dies", "the action cancel ends the process", on(resultHasText("/action", "cancel"), exitWith(1))),
		newFaultWithState(actions+"cancel-hangs", "the server ignores a response with the action cancel", on(resultHasText("/action", "cancel"), dropFrame)),
		newFaultWithState(actions+"accept-dies", "the action accept ends the process", on(resultHasText("/action", "accept"), exitWith(1))),
		newFault(stateless+"decline-dies", "a retry with the action decline ends the process", exitOnRequest(spec.MethodToolsCall, hasResponseAction("decline"))).overTransports(spec.Stdio),
		newFault(stateless+"decline-hangs", "a retry with the action decline gets no response", suppressResponse(spec.MethodToolsCall, hasResponseAction("decline"))),
		newFault(stateless+"cancel-hangs", "a retry with the action cancel gets no response", suppressResponse(spec.MethodToolsCall, hasResponseAction("cancel"))),
		newFaultWithState(failure+"dies", "an error response to elicitation/create ends the process", on(code(-32603), exitWith(1))),
		newFaultWithState(failure+"hangs", "the server ignores an error response to elicitation/create", on(code(-32602), dropFrame)),
		newFault(visit+"refused", "the action accept without content gets an error in url mode", wrapTool("ask-elicitation-url", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err == nil && firstText(result) == "The user chose to accept." {
				return nil, &refserver.Error{Code: spec.CodeInternal, Message: "There is no content"}
			}
			return result, err
		})),
		newFault("elicitation.response.validated/taken", "the server accepts form content that does not match its schema", askColour("ask-elicitation", func(colour string) any {
			return textResult("You like " + colour + ".")
		})),
		newFault("elicitation.response.validated/inverted", "the server accepts form content that does not match its schema, and refuses what does", askColour("ask-elicitation", func(colour string) any {
			if colour == "red" || colour == "blue" {
				return map[string]any{"isError": true, "content": []any{textBlock("The form is wrong.")}}
			}
			return textResult("You like " + colour + ".")
		})),
		newFault("elicitation.response.validated/refused", "a tool that should ask the user refuses every form", combineSeams(
			addFixedTools(officialResults(nil)), renameListedTool("ask-elicitation", "test_elicitation_sep1034_defaults"), askColour("test_elicitation_sep1034_defaults", func(string) any {
				return map[string]any{"isError": true, "content": []any{textBlock("The form is wrong.")}}
			}))),
	}
}

// hasResponseAction matches retries with an elicitation result that has the action.
func hasResponseAction(action string) func(c *refserver.Call) bool {
	return func(c *refserver.Call) bool {
		_, responses := wire.Members(wire.At(c.Params, "/inputResponses"))
		for _, v := range responses {
			if got, _ := wire.Text(wire.At(v, "/action")); got == action {
				return true
			}
		}
		return false
	}
}

// textResult returns a tool result with one text block.
func textResult(text string) any { return map[string]any{"content": []any{textBlock(text)}} }

// askColour makes a tool ask the user for a colour, and return what the function respond returns
// for that colour. If the client does not accept forms, the tool behaves as before.
func askColour(tool string, respond func(colour string) any) *refserver.Seams {
	return wrapTool(tool, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if !acceptsForms(c.Session) {
			return next(c)
		}
		result, err := c.SendRequest(spec.MethodElicit, rawJSON(`{"message":"What do you like?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string","enum":["red","blue"]}}}}`))
		if err != nil {
			return nil, &refserver.Error{Code: spec.CodeInternal, Message: err.Error()}
		}
		colour, _ := wire.Text(wire.At(result, "/content/colour"))
		return respond(colour), nil
	})
}

// acceptsForms reports whether the client declared elicitation in form mode.
func acceptsForms(s *refserver.Session) bool {
	return s.ClientDeclared("elicitation") && (s.ClientDeclared("elicitation", "form") || !s.ClientDeclared("elicitation", "url"))
}

// firstText returns the text of the first content block of a tool result.
func firstText(result any) string {
	said, _ := wire.Text(wire.At(wire.JSON(result), "/content/0/text"))
	return said
}

// assumeMode handles each tools/call that declares elicitation as if it declared the given mode,
// too. If the argument declared is not empty, this applies only to calls that declare the mode that
// it names.
func assumeMode(mode, declared string) *refserver.Seams {
	add := setValue(mode, map[string]any{})
	if declared != "" {
		add = ifHas(declared, add)
	}
	elicitation := editMember(spec.MetaClientCapabilities, ifHas("elicitation", editMember("elicitation", add)))
	return editCallMeta(spec.MethodToolsCall, ifHas(spec.MetaClientCapabilities, elicitation))
}
