package faults

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

const (
	methodHeader = "Mcp-Method"
	nameHeader   = "Mcp-Name"
	paramHeader  = "Mcp-Param-"
)

// editRequestHeaders changes the headers of matching POSTs of the stateless era before the server
// compares them with the body.
func editRequestHeaders(when func(c *refserver.Call) bool, amend func(c *refserver.Call)) *refserver.Seams {
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if c.Header != nil && isStatelessCall(c) && when(c) {
			amend(c)
		}
		return next(c)
	})
}

// refuseHeaders refuses matching POSTs of the stateless era with the error that the server sends
// if headers do not match the body.
func refuseHeaders(when func(c *refserver.Call) bool) *refserver.Seams {
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if c.Header != nil && isStatelessCall(c) && when(c) {
			return nil, &refserver.Error{Code: spec.CodeHeaderMismatch, Message: "Header mismatch"}
		}
		return next(c)
	})
}

// nameOf returns the value that Mcp-Name has to repeat.
func nameOf(c *refserver.Call) string {
	member := "/name"
	if c.Method == spec.MethodResourcesRead {
		member = "/uri"
	}
	name, _ := wire.Text(wire.At(c.Params, member))
	return name
}

// encodedHeader returns a header value in its Base64 form.
func encodedHeader(value string) string {
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
}

func setVersionHeader(c *refserver.Call) { c.Header.Set(versionHeader, namedVersion(c)) }

func setMethodHeader(c *refserver.Call) { c.Header.Set(methodHeader, c.Method) }

func setNameHeader(c *refserver.Call) { c.Header.Set(nameHeader, encodedHeader(nameOf(c))) }

// lacksHeader returns a condition for POSTs without a header.
func lacksHeader(name string) func(c *refserver.Call) bool {
	return func(c *refserver.Call) bool { return len(c.Header.Values(name)) == 0 }
}

// headerMismatchFaults returns the faults in comparing the version and the method in the
// headers with the body.
func headerMismatchFaults() []*Fault {
	const noVersion, version, noMethod, method = "streamable-http.version-header-required/", "streamable-http.version-header-match/", "streamable-http.mcp-method-required/", "streamable-http.mcp-method-match/"
	const mismatch, spelling, unknown = "streamable-http.header-mismatch-error/", "streamable-http.header-names-case-insensitive/", "streamable-http.method-not-found-404/"
	namesMethod, namesVersion := not(lacksHeader(methodHeader)), both(not(lacksHeader(versionHeader)), not(lacksMeta(spec.MetaVersion)))
	mismatched := func(e func(e *refserver.Error)) *refserver.Seams {
		return editStatelessErrors(spec.CodeHeaderMismatch, always, e)
	}
	return []*Fault{
		newFault(noVersion+"served", "requests without MCP-Protocol-Version are served", editRequestHeaders(lacksHeader(versionHeader), setVersionHeader)).statelessOnly(),
		newFault(version+"served", "MCP-Protocol-Version is not compared with the body", editRequestHeaders(namesVersion, setVersionHeader)),
		newFault(version+"header-counts", "the server uses the version in MCP-Protocol-Version, whatever the body says", editRequestHeaders(func(c *refserver.Call) bool {
			return c.Header.Get(versionHeader) == string(spec.V20260728)
		}, setCurrentVersion)),
		newFault(version+"unsupported", "different versions in header and body get -32022", editStatelessErrors(spec.CodeHeaderMismatch, func(c *refserver.Call) bool {
			return c.Header.Get(versionHeader) != namedVersion(c)
		}, func(e *refserver.Error) {
			e.Code, e.Data = spec.CodeUnsupported, map[string]any{"supported": []string{"2026-07-28"}, "requested": "2025-11-25"}
		})),
		newFault(noMethod+"served", "requests without Mcp-Method are served", editRequestHeaders(lacksHeader(methodHeader), setMethodHeader)),
		newFault(method+"served", "Mcp-Method is not compared with the body", editRequestHeaders(namesMethod, setMethodHeader)),
		newFault(method+"prompts", "Mcp-Method is not compared with the body of prompts/get", editRequestHeaders(both(namesMethod, ofMethods(spec.MethodPromptsGet)), setMethodHeader)),
		newFault(method+"completions", "Mcp-Method is not compared with the body of completion/complete", editRequestHeaders(both(namesMethod, ofMethods(spec.MethodComplete)), setMethodHeader)),
		newFault(method+"listen", "Mcp-Method is not compared with the body of subscriptions/listen", editRequestHeaders(both(namesMethod, ofMethods(spec.MethodListen)), setMethodHeader)),
		newFault(noMethod+"reads", "resources are read without Mcp-Method", editRequestHeaders(both(lacksHeader(methodHeader), ofMethods(spec.MethodResourcesRead)), setMethodHeader)),
		newFault(noMethod+"listen", "subscriptions/listen is served without Mcp-Method", editRequestHeaders(both(lacksHeader(methodHeader), ofMethods(spec.MethodListen)), setMethodHeader)),
		newFault(version+"calls", "MCP-Protocol-Version is not compared with the body of tools/call", editRequestHeaders(both(namesVersion, ofMethods(spec.MethodToolsCall)), setVersionHeader)),
		newFault(version+"completions", "MCP-Protocol-Version is not compared with the body of completion/complete", editRequestHeaders(both(namesVersion, ofMethods(spec.MethodComplete)), setVersionHeader)),
		newFault(method+"any-case", "Mcp-Method is compared without regard to case", editRequestHeaders(func(c *refserver.Call) bool {
			return strings.EqualFold(c.Header.Get(methodHeader), c.Method)
		}, setMethodHeader)),
		newFault(mismatch+"200", "error -32020 comes with status 200", mismatched(setStatus(http.StatusOK))),
		newFault(mismatch+"422", "error -32020 comes with status 422", mismatched(setStatus(http.StatusUnprocessableEntity))),
		newFault(mismatch+"invalid-request", "headers that do not match get -32600", mismatched(setCode(spec.CodeInvalidRequest))),
		newFault(mismatch+"older-code", "headers that do not match get -32001, as in a draft", mismatched(setCode(-32001))),
		newFault(mismatch+"no-body", "headers that do not match get status 400 and a text", editResponses(isPost, func(_ *exchange, r *responseEditor) {
			r.editBody = func(b []byte) []byte {
				if strings.Contains(string(b), "-32020") {
					return []byte("Bad Request")
				}
				return b
			}
		})),
		newFault(spelling+"lower", "the server does not recognize Mcp-Method in lower case", hideHeaders("mcp-method")),
		newFault(spelling+"upper", "the server does not recognize Mcp-Method in upper case", hideHeaders("MCP-METHOD")),
		newFault("streamable-http.header-whitespace/kept", "the server does not recognize Mcp-Method with more than one space before its value", &refserver.Seams{Input: func(r io.Reader) io.Reader {
			return &paddedHider{r}
		}}),
		newFault(unknown+"200", "error -32601 comes with status 200", editStatelessErrors(spec.CodeMethodNotFound, always, setStatus(http.StatusOK))),
		newFault(unknown+"400", "error -32601 comes with status 400", editStatelessErrors(spec.CodeMethodNotFound, always, setStatus(http.StatusBadRequest))),
		newFault(unknown+"no-body", "an unknown method gets status 404 and a text", editResponses(isPost, func(_ *exchange, r *responseEditor) {
			r.editBody = func(b []byte) []byte {
				if strings.Contains(string(b), "-32601") {
					return []byte("Not Found")
				}
				return b
			}
		})),
		newFault("streamable-http.single-endpoint-post/405", "tools/list gets status 405", onExchange(func(v *exchange) bool {
			return v.r.Header.Get(versionHeader) == string(spec.V20260728) && v.has(wire.Request, spec.MethodToolsList)
		}, respondText(http.StatusMethodNotAllowed))),
	}
}

// A paddedHider renames Mcp-Method where more than one space precedes its value, so that
// the server does not recognize it.
type paddedHider struct{ r io.Reader }

// Read implements io.Reader.
func (h *paddedHider) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if i := bytes.Index(p[:n], []byte("\n"+methodHeader+":  ")); i >= 0 {
		p[i+1] = 'x'
	}
	return n, err
}

// nameHeaderFaults returns the faults in Mcp-Name.
func nameHeaderFaults() []*Fault {
	const required, matches, base64Form, invalid = "streamable-http.mcp-name-required/", "streamable-http.mcp-name-match/", "streamable-http.mcp-name-base64/", "streamable-http.header-invalid-chars/"
	named := ofMethods(spec.MethodToolsCall, spec.MethodPromptsGet, spec.MethodResourcesRead)
	header := func(when func(value string) bool) func(c *refserver.Call) bool {
		return func(c *refserver.Call) bool { return named(c) && when(c.Header.Get(nameHeader)) }
	}
	isEncoded := func(value string) bool { return strings.HasPrefix(value, "=?base64?") }
	return []*Fault{
		newFault(required+"served", "requests without Mcp-Name are served", editRequestHeaders(both(named, lacksHeader(nameHeader)), setNameHeader)),
		newFault(required+"reads", "resources are read without Mcp-Name", editRequestHeaders(both(ofMethods(spec.MethodResourcesRead), lacksHeader(nameHeader)), setNameHeader)),
		newFault(matches+"calls", "Mcp-Name is not compared with the tool", editRequestHeaders(both(ofMethods(spec.MethodToolsCall), header(func(value string) bool { return value != "" && !isEncoded(value) })), setNameHeader)),
		newFault(matches+"any-case", "Mcp-Name is compared without regard to case", editRequestHeaders(func(c *refserver.Call) bool {
			return named(c) && strings.EqualFold(c.Header.Get(nameHeader), nameOf(c))
		}, setNameHeader)),
		newFault(matches+"encoded", "Mcp-Name in Base64 is not compared with the body", editRequestHeaders(header(func(value string) bool { return isEncoded(value) && !strings.Contains(value, "%") }), setNameHeader)),
		newFault(base64Form+"raw", "Mcp-Name in Base64 is compared without decoding it", refuseHeaders(header(isEncoded))),
		newFault(base64Form+"calls", "Mcp-Name of a tool in Base64 is compared without decoding it", refuseHeaders(both(ofMethods(spec.MethodToolsCall), header(isEncoded)))),
		newFault("streamable-http.base64-marker-case/any-case", "the marker of Base64 is recognised in any letter case", editRequestHeaders(header(func(value string) bool { return strings.HasPrefix(value, "=?BASE64?") }), func(c *refserver.Call) {
			c.Header.Set(nameHeader, "=?base64?"+strings.TrimPrefix(c.Header.Get(nameHeader), "=?BASE64?"))
		})),
		newFault(invalid+"broken-base64", "a header whose Base64 is broken is ignored", editRequestHeaders(header(func(value string) bool { return strings.Contains(value, "%%%") }), setNameHeader)),
		newFault(invalid+"utf-8", "a header that is not ASCII is ignored", editRequestHeaders(header(func(value string) bool { return strings.Contains(value, "ö") }), setNameHeader)),
	}
}

// routeHeaders maps the suffixes of the Mcp-Param- headers of the tool route to the arguments that
// they repeat.
var routeHeaders = map[string]string{"Region": "region", "Priority": "priority", "Dry-Run": "dryRun"}

// routeHeaderValue returns an argument of the tool route in the form of a header value. It
// returns false if the call lacks the argument, or calls another tool.
func routeHeaderValue(c *refserver.Call, argument string) (string, bool) {
	v := wire.At(c.Params, "/arguments/"+argument)
	if v == nil || nameOf(c) != "route" {
		return "", false
	}
	if text, ok := wire.Text(v); ok {
		return encodedHeader(text), true
	}
	return string(v), true
}

// paramHeaderFaults returns the faults in the headers that repeat arguments.
func paramHeaderFaults() []*Fault {
	const matches, required, optional = "streamable-http.param-header-match/", "streamable-http.param-header-missing/", "streamable-http.param-header-not-expected/"
	const base64Form, numeric, unknown = "streamable-http.param-header-base64/", "streamable-http.param-header-integer-numeric/", "streamable-http.param-header-unknown-ignored/"
	calls := ofMethods(spec.MethodToolsCall)
	amend := func(when func(value string, given bool) bool, headers ...string) *refserver.Seams {
		return editRequestHeaders(calls, func(c *refserver.Call) {
			for _, header := range headers {
				given := c.Header.Values(paramHeader + header)
				value, ok := routeHeaderValue(c, routeHeaders[header])
				if ok && when(c.Header.Get(paramHeader+header), len(given) > 0) {
					c.Header.Set(paramHeader+header, value)
				}
			}
		})
	}
	present := func(value string, given bool) bool { return given && !strings.HasPrefix(value, "=?") }
	missing := func(_ string, given bool) bool { return !given }
	return []*Fault{
		newFault(matches+"text", "the header that repeats a string argument is not compared with it", amend(present, "Region")),
		newFault(matches+"integer", "the header of an integer is not compared with the argument", amend(present, "Priority")),
		newFault(matches+"boolean", "the header of a boolean is not compared with the argument", amend(present, "Dry-Run")),
		newFault(required+"served", "calls without the header of an argument are served", amend(missing, "Region", "Priority", "Dry-Run")),
		newFault(required+"boolean", "calls without the header of a boolean are served", amend(missing, "Dry-Run")),
		newFault(optional+"demanded", "the header of an argument is required without the argument, too", refuseHeaders(func(c *refserver.Call) bool {
			_, given := routeHeaderValue(c, "region")
			return calls(c) && nameOf(c) == "route" && !given && lacksHeader(paramHeader+"Region")(c)
		})),
		newFault(base64Form+"raw", "the header of an argument in Base64 is compared without decoding it", refuseHeaders(func(c *refserver.Call) bool {
			return calls(c) && strings.HasPrefix(c.Header.Get(paramHeader+"Region"), "=?base64?")
		})),
		newFault(base64Form+"latin", "the header of an argument in Base64 is not decoded as UTF-8", refuseHeaders(func(c *refserver.Call) bool {
			text, _ := wire.Text(wire.At(c.Params, "/arguments/region"))
			return calls(c) && strings.Contains(text, "ö")
		})),
		newFault(numeric+"text", "the header of an integer is compared as text", refuseHeaders(func(c *refserver.Call) bool {
			return calls(c) && strings.HasSuffix(c.Header.Get(paramHeader+"Priority"), ".0")
		})),
		newFault(unknown+"refused", "a header that repeats no argument is refused", refuseHeaders(func(c *refserver.Call) bool {
			return !lacksHeader(paramHeader + "Mcp-Conform")(c)
		})),
	}
}

// removedTransportFaults returns the faults in features of the transport that 2026-07-28 has
// removed.
func removedTransportFaults() []*Fault {
	const session, resumed = "streamable-http.session-header-ignored/", "streamable-http.last-event-id-ignored/"
	isModern := func(v *exchange) bool {
		return isPost(v) && v.r.Header.Get(versionHeader) == string(spec.V20260728)
	}
	with := func(header string) func(v *exchange) bool {
		return func(v *exchange) bool { return isModern(v) && v.r.Header.Get(header) != "" }
	}
	isGet := func(v *exchange) bool { return v.r.Method == http.MethodGet }
	return []*Fault{
		newFault("streamable-http.get-405/404", "GET gets status 404", onExchange(isGet, respondText(http.StatusNotFound))).statelessOnly(),
		newFault("streamable-http.get-405/400", "GET gets status 400", onExchange(isGet, respondText(http.StatusBadRequest))).statelessOnly(),
		newFault("streamable-http.delete-405/200", "DELETE gets status 200", onExchange(isDelete, respondText(http.StatusOK))).statelessOnly(),
		newFault(session+"refused", "a request with a session id gets status 404", onExchange(with(sessionHeader), respondText(http.StatusNotFound))).statelessOnly(),
		newFault(session+"assigned", "responses assign a session", editHeaders(isModern, func(h http.Header) { h.Set(sessionHeader, "0123456789abcdef") })).statelessOnly(),
		newFault(resumed+"refused", "a request with Last-Event-ID gets status 400", onExchange(with(eventHeader), respondText(http.StatusBadRequest))).statelessOnly(),
	}
}

// statelessStreamFaults returns the faults in the event streams of the stateless era.
func statelessStreamFaults() []*Fault {
	isModern := func(v *exchange) bool {
		return isPost(v) && v.r.Header.Get(versionHeader) == string(spec.V20260728)
	}
	const ends = "streamable-http.sse-close-after-response-2026-07-28/"
	return []*Fault{
		newFault("streamable-http.sse-no-buffering-header/missing", "streams have no X-Accel-Buffering", editHeaders(isModern, func(h http.Header) { h.Del("X-Accel-Buffering") })),
		newFault("streamable-http.sse-no-buffering-header/yes", "X-Accel-Buffering of streams is yes", editHeaders(isModern, func(h http.Header) { h.Set("X-Accel-Buffering", "yes") })),
		newFault("streamable-http.not-resumable/ids", "events have ids", editEvents(isModern, func(b []byte) []byte { return append([]byte("id: 1\n"), b...) })),
		newFault(ends+"more", "a notification follows the response", editEvents(isModern, func(b []byte) []byte {
			if eventHasResponse(b) {
				return append(b, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/com.example.note\"}\n\n"...)
			}
			return b
		})),
		newFault(ends+"open", "streams stay open after the response", onExchange(func(v *exchange) bool { return isModern(v) && callsSlowTool(v) }, func(v *exchange) {
			v.serve()
			if http.NewResponseController(v.w).Flush() == nil {
				<-v.r.Context().Done()
			}
		})),
	}
}

// legalHeaders returns the legal variations of Streamable HTTP in the stateless era.
func legalHeaders() []*Fault {
	rows := limitRevisions(spec.StatelessRevisions(),
		// Permitted, because the server also serves earlier revisions, whose transport has
		// sessions.
		newVariation("session-assigned-in-both-eras", "every response has an Mcp-Session-Id", editHeaders(func(v *exchange) bool {
			return isPost(v) && v.r.Header.Get(versionHeader) == string(spec.V20260728)
		}, func(h http.Header) { h.Set(sessionHeader, "0123456789abcdef") })),
		newVariation("headers-before-body", "a body without a method gets status 400 and -32020", onExchange(func(v *exchange) bool {
			return isPost(v) && v.r.Header.Get(versionHeader) == string(spec.V20260728) && v.r.Header.Get(methodHeader) == "" &&
				(len(v.frame.Messages) == 0 || v.frame.Messages[0].Method == "")
		}, respond(http.StatusBadRequest, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"Header mismatch"}}`))),
		newVariation("mismatch-in-other-words", "error -32020 has another message, and data", editStatelessErrors(spec.CodeHeaderMismatch, always, func(e *refserver.Error) {
			e.Message, e.Data = "Kopfzeile", map[string]any{"header": "?"}
		})),
		newVariation("superfluous-names-refused", "Mcp-Name is refused for methods that do not have it", refuseHeaders(func(c *refserver.Call) bool {
			return !ofMethods(spec.MethodToolsCall, spec.MethodPromptsGet, spec.MethodResourcesRead)(c) && !lacksHeader(nameHeader)(c)
		})),
		newVariation("get-of-both-eras", "GET gets status 404 from a server of both eras", onExchange(func(v *exchange) bool {
			return v.r.Method == http.MethodGet && v.r.Header.Get(versionHeader) == string(spec.V20260728)
		}, respondText(http.StatusNotFound))),
		newVariation("invalid-params-400", "errors about params have status 400", editStatelessErrors(spec.CodeInvalidParams, always, setStatus(http.StatusBadRequest))),
		newVariation("comments-in-stateless-streams", "streams have comments between their events", editEvents(isPost, func(b []byte) []byte { return append([]byte(": keep-alive\n\n"), b...) })),
	)
	return restrictTransports([]spec.Transport{spec.StreamableHTTP}, rows)
}
