package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// A form and a page as a server may ask for them.
const (
	aForm = `{"message":"What is it?","requestedSchema":{"type":"object","properties":{"it":{"type":"string"}}}}`
	aPage = `{"mode":"url","message":"Please look.","elicitationId":"e1","url":"https://example.com/"}`
)

// elicitationFaults are those of a server that asks a user when, or what, it
// may not.
func elicitationFaults() []Fault {
	const undeclared, mode = "elicitation.requires-client-capability-2025-06-18/", "elicitation.mode.supported-only/"
	const sensitive, credentials, links = "elicitation.form.no-sensitive-information-2025-06-18/", "elicitation.form.no-credentials-2025-11-25/",
		"elicitation.form.no-clickable-urls/"
	const https, secret, unique, known = "elicitation.url.https/", "elicitation.url.no-sensitive-data/", "elicitation.url.id-unique-2025-11-25/",
		"elicitation.complete.known-id-2025-11-25/"
	newer := []spec.Revision{spec.V20250618, spec.V20251125}
	form := func(message, field, schema string) refserver.Seams {
		return asksIf("elicitation", spec.MethodElicit, raw(`{"message":`+message+`,"requestedSchema":{"type":"object","properties":{`+field+`:`+schema+`}}}`))
	}
	page := func(url string) refserver.Seams {
		return asksWhere(declares("elicitation", "url"), spec.MethodElicit, raw(`{"mode":"url","message":"Please look.","elicitationId":"e1","url":`+url+`}`))
	}
	demands := func(url string) refserver.Seams {
		return calling("ask-elicitation-required", func(*refserver.Call, Handler) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: spec.CodeURLElicitation, Message: "A page has to be visited first", Data: raw(
				`{"elicitations":[{"mode":"url","message":"Please look.","elicitationId":"e1","url":` + url + `}]}`)}
		})
	}
	forms, pages := and(declares("elicitation"), lacks("elicitation", "url")), and(declares("elicitation", "url"), lacks("elicitation", "form"))
	return []Fault{
		breaks(undeclared+"unprompted", "the user is asked whatever the client has declared", asksWhere(lacks("elicitation"), spec.MethodElicit, raw(aForm))).in(newer...),
		breaks(undeclared+"by-tool", "a tool asks the user whatever the client has declared",
			toolAsks("ask-elicitation", lacks("elicitation"), spec.MethodElicit, raw(aForm))).in(newer...),
		breaks(mode+"page", "the user is sent to a page by a client that shows forms alone", toolAsks("ask-elicitation-url", forms, spec.MethodElicit, raw(aPage))),
		breaks(mode+"form", "a form goes to a client that shows pages alone", toolAsks("ask-elicitation", pages, spec.MethodElicit, raw(aForm))),
		breaks(mode+"required", "a visit to a page is required of a client that shows none", demands(`"https://example.com/"`)),

		breaks(sensitive+"password", "a form asks for a password", form(`"Please log in."`, `"password"`, `{"type":"string"}`)).in(spec.V20250618),
		breaks(credentials+"api-key", "a form asks for a key", form(`"Which key is to be used?"`, `"apiKey"`, `{"type":"string"}`)).in(spec.V20251125),
		breaks(credentials+"card", "a form asks for the number of a card", form(`"How do you want to pay?"`, `"credit-card-number"`, `{"type":"string","title":"Card"}`)).in(spec.V20251125),
		breaks(links+"message", "the message of a form has a link", form(`"Please visit http://docs.acme.com/terms first."`, `"agreed"`, `{"type":"boolean"}`)),
		breaks(links+"description", "the description of a field has a link", form(`"Do you agree?"`, `"agreed"`, `{"type":"boolean","description":"See https://docs.acme.com/terms."}`)),

		breaks(https+"http", "the user is sent to a page over http", page(`"http://acme.com/connect"`)),
		breaks(https+"other-scheme", "the user is sent to a program", page(`"acme://connect"`)),
		breaks(https+"required", "a visit to a page over http is required", demands(`"http://acme.com/connect"`)),
		breaks(secret+"password", "the URL of a page holds a password", page(`"https://ada:lovelace@acme.com/connect"`)),
		breaks(unique+"constant", "all elicitations by URL have the same id", together(
			sent(spec.MethodElicit, having("elicitationId", put("elicitationId", "visit"))),
			sent(spec.MethodElicitDone, put("elicitationId", "visit")))),
		breaks(known+"made-up", "a visit is over that nobody was asked to make", tells(spec.MethodElicitDone, `{"elicitationId":"made-up"}`)),
		breaks(known+"other", "the end of a visit is told with another id", sent(spec.MethodElicitDone, func(p map[string]any) {
			p["elicitationId"] = "visit/" + p["elicitationId"].(string)
		})),
		breaks(known+"early", "a visit is over before it is asked for", Outgoing(
			func(o *refserver.Out) bool { return Requests(o) && o.Method == spec.MethodElicit }, func(o *refserver.Out) {
				if id := wire.At(wire.Parse(o.Frames[0]).Messages[0].Params(), "/elicitationId"); id != nil {
					done := wire.NewNotification(spec.MethodElicitDone, map[string]any{"elicitationId": id})
					o.Frames = append([][]byte{done}, o.Frames...)
				}
			})),
	}
}

// userFaults are those of a server that does not cope with what a user does.
func userFaults() []Fault {
	const actions, failure, visit = "elicitation.response.all-actions-handled-2025-06-18/", "elicitation.response.client-error-handled/",
		"elicitation.response.url-accept-without-content/"
	on := func(when func(m *wire.Message) bool, then func(*refserver.Session, []byte) refserver.FrameAction) func() refserver.Seams {
		return onReply(spec.MethodElicit, when, then)
	}
	code := func(code int64) func(m *wire.Message) bool {
		return func(m *wire.Message) bool {
			got, ok := m.ErrorCode()
			return ok && got == code
		}
	}
	return []Fault{
		breaksAfresh(actions+"decline-dies", "that the user declines ends the process", on(saying("/action", "decline"), diesOf(1))),
		breaksAfresh(actions+"decline-hangs", "that the user declines is not noticed", on(saying("/action", "decline"), swallows)),
		breaksAfresh(actions+"cancel-dies", "that the user dismisses a form ends the process", on(saying("/action", "cancel"), diesOf(1))),
		breaksAfresh(actions+"cancel-hangs", "that the user dismisses a form is not noticed", on(saying("/action", "cancel"), swallows)),
		breaksAfresh(actions+"accept-dies", "that the user accepts ends the process", on(saying("/action", "accept"), diesOf(1))),
		breaksAfresh(failure+"dies", "an error of the client ends the process", on(code(-32603), diesOf(1))),
		breaksAfresh(failure+"hangs", "an error of the client is not noticed", on(code(-32602), swallows)),
		breaks(visit+"refused", "agreeing to visit a page is an error", calling("ask-elicitation-url", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err == nil && text(result) == "The user chose to accept." {
				return nil, &refserver.Error{Code: spec.CodeInternal, Message: "There is no content"}
			}
			return result, err
		})),
		breaks("elicitation.response.validated/taken", "a form is taken whatever is handed in", calling("ask-elicitation", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if !c.Session.Declared("elicitation") {
				return next(c)
			}
			result, err := c.SendRequest(spec.MethodElicit, raw(`{"message":"What do you like?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string","enum":["red","blue"]}}}}`))
			if err != nil {
				return nil, &refserver.Error{Code: spec.CodeInternal, Message: err.Error()}
			}
			colour, _ := wire.Text(wire.At(result, "/content/colour"))
			return map[string]any{"content": []any{textBlock("You like " + colour + ".")}}, nil
		})),
	}
}

// text returns what a tool says first.
func text(result any) string {
	said, _ := wire.Text(wire.At(wire.JSON(result), "/content/0/text"))
	return said
}
