package refserver

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// In the stateless era a request carries the version and the capabilities in _meta, so
// that the server can handle it independently of earlier requests on the connection. A
// server of both eras decides for each request which rules apply to it.

// The _meta members of requests, results and notifications (basic, section _meta).
const (
	metaPrefix         = "io.modelcontextprotocol/"
	metaVersion        = metaPrefix + "protocolVersion"
	metaClientInfo     = metaPrefix + "clientInfo"
	metaCapabilities   = metaPrefix + "clientCapabilities"
	metaLogLevel       = metaPrefix + "logLevel"
	metaServerInfo     = metaPrefix + "serverInfo"
	metaSubscriptionID = metaPrefix + "subscriptionId"
)

// The values of resultType.
const (
	resultComplete      = "complete"
	resultInputRequired = "input_required"
)

// statelessMethods are the methods of the stateless revisions.
var statelessMethods = map[string]bool{
	spec.MethodDiscover:           true,
	spec.MethodToolsList:          true,
	spec.MethodToolsCall:          true,
	spec.MethodResourcesList:      true,
	spec.MethodResourcesTemplates: true,
	spec.MethodResourcesRead:      true,
	spec.MethodPromptsList:        true,
	spec.MethodPromptsGet:         true,
	spec.MethodComplete:           true,
	spec.MethodListen:             true,
}

// lifetimes maps a method to the number of milliseconds for which a client may cache its results.
// Results of all other methods are not cacheable.
var lifetimes = map[string]int{
	spec.MethodDiscover:           3_600_000,
	spec.MethodToolsList:          60_000,
	spec.MethodResourcesList:      60_000,
	spec.MethodResourcesTemplates: 60_000,
	spec.MethodPromptsList:        60_000,
	spec.MethodResourcesRead:      60_000,
}

// revisionOf returns the revision in which the server handles a message. It is the newest stateless
// revision in these cases: the message comes in a POST of a stateless revision, it has a version in
// _meta, it is server/discover before a handshake, or the server serves only stateless revisions.
// In all other cases, and for every element of a batch, it is the negotiated revision, which is
// empty before initialize.
func (s *Session) revisionOf(m *wire.Message, batched bool) spec.Revision {
	negotiated, stateless := s.Revision(), s.options.statelessRevisions()
	switch {
	case len(stateless) == 0 || batched:
		return negotiated
	case s.header != nil, len(s.options.handshakeRevisions()) == 0,
		m.Method == spec.MethodDiscover && negotiated == "",
		metaOf(m.Params())[metaVersion] != nil:
		return stateless[len(stateless)-1]
	default:
		return negotiated
	}
}

// metaOf returns the members of _meta in params.
func metaOf(params jsontext.Value) fields {
	_, members := wire.Members(wire.At(params, "/_meta"))
	return members
}

// meta returns the members of the request's _meta.
func (c *Call) meta() fields { return metaOf(c.Params) }

// isStateless reports whether the rules of the stateless era apply to the call.
func (c *Call) isStateless() bool { return c.Revision.Era() == spec.Stateless }

// ClientDeclared reports whether the client has declared a capability for this call: in the request
// itself in a stateless revision, otherwise in the handshake of the session. The path is as in
// Session.ClientDeclared.
func (c *Call) ClientDeclared(path ...string) bool {
	if c.isStateless() {
		return hasPath(decodeObject(c.meta()[metaCapabilities]), path)
	}
	return c.Session.ClientDeclared(path...)
}

// failUndeclared returns the result of a tool that needs an undeclared capability of the
// client. In a stateless revision the call gets an error that names the capability instead.
func (c *Call) failUndeclared(text string, path ...string) object {
	if c.isStateless() {
		c.failWith(missingCapability(path))
		return nil
	}
	return errorResult(text)
}

// missingCapability returns the error that names undeclared capabilities, each given as
// a path of member names.
func missingCapability(paths ...[]string) *Error {
	required, names := object{}, []string{}
	for _, path := range paths {
		parent := required
		for _, name := range path {
			inner, ok := parent[name].(object)
			if !ok {
				inner = object{}
				parent[name] = inner
			}
			parent = inner
		}
		names = append(names, strings.Join(path, "."))
	}
	return &Error{
		Code: spec.CodeMissingClientCap, Message: "The client has not declared " + strings.Join(names, ", "),
		Data: object{"requiredCapabilities": required},
	}
}

// failUnusableResponse returns the result of a tool that can't use the client's response. In a
// stateless revision the call gets an error instead, because the client's response is
// part of the call's params.
func (c *Call) failUnusableResponse(text string) object {
	if c.isStateless() {
		c.failWith(invalidParams("%s", text))
		return nil
	}
	return errorResult(text)
}

// handleStateless handles a request of a stateless revision. An error for initialize also
// lists the versions that the server supports.
func (c *Call) handleStateless() (any, *Error) {
	result, err := c.serveStateless()
	if err != nil && c.Method == spec.MethodInitialize {
		return nil, c.addVersions(err)
	}
	return result, err
}

func (c *Call) serveStateless() (any, *Error) {
	if err := c.checkHeaders(); err != nil {
		return nil, err
	}
	if err := c.checkMeta(); err != nil {
		return nil, err
	}
	if !c.isKnown() {
		return nil, &Error{Code: spec.CodeMethodNotFound, Message: "Method not found"}
	}
	if err := c.checkRate(); err != nil {
		return nil, err
	}
	if takesInput[c.Method] {
		if err := c.readInput(); err != nil {
			return nil, err
		}
	}
	result, err := handlers[c.Method](c)
	switch {
	case c.protocolError != nil:
		return nil, c.protocolError
	case c.input != nil && len(c.input.pending) > 0:
		return c.withCommonMembers(c.inputRequiredResult()), nil
	case err != nil:
		return nil, err
	default:
		return c.withCommonMembers(result), nil
	}
}

// checkMeta checks the version, the capabilities and the other members of _meta that
// every request may have. It checks the version first, because the rules for the other
// members depend on the revision.
func (c *Call) checkMeta() *Error {
	meta := c.meta()
	raw, given := meta[metaVersion]
	version, isText := wire.Text(raw)
	switch {
	case !given:
		return invalidMeta("_meta has no %s", metaVersion)
	case !isText:
		return invalidMeta("%s must be a string", metaVersion)
	case !slices.Contains(c.Session.options.statelessRevisions(), spec.Revision(version)):
		return c.Session.options.unsupportedVersion(version)
	}
	if err := checkParams(c.Params); err != nil {
		return err
	}
	if meta[metaCapabilities].Kind() != '{' {
		return invalidMeta("%s must be an object", metaCapabilities)
	}
	if info, given := meta[metaClientInfo]; given && !isImplementation(info) {
		return invalidMeta("%s must be an object with a name and a version", metaClientInfo)
	}
	if raw, given := meta[metaLogLevel]; given {
		if level, _ := wire.Text(raw); !slices.Contains(levels, level) {
			return invalidMeta("%s must be one of %v", metaLogLevel, levels)
		}
	}
	return nil
}

func isImplementation(info jsontext.Value) bool {
	_, members := wire.Members(info)
	return isString(members["name"]) && isString(members["version"])
}

// invalidMeta returns the error for a request with an invalid _meta.
func invalidMeta(format string, args ...any) *Error {
	err := invalidParams(format, args...)
	err.Status = http.StatusBadRequest
	return err
}

func (o *Options) unsupportedVersion(requested string) *Error {
	return &Error{
		Code: spec.CodeUnsupported, Message: "Unsupported protocol version",
		Data: object{"supported": o.supportedVersions(), "requested": requested},
	}
}

// addVersions adds the supported versions to an error. A client that knows only
// the handshake has no other way to learn them.
func (c *Call) addVersions(err *Error) *Error {
	versions := c.Session.options.supportedVersions()
	var names []string
	for _, v := range versions {
		names = append(names, string(v))
	}
	out := *err
	out.Message += "; this server supports " + strings.Join(names, ", ")
	if out.Data == nil {
		out.Data = object{"supported": versions}
	}
	return &out
}

// discover handles server/discover.
func (c *Call) discover() (any, *Error) {
	o := &c.Session.options
	return object{
		"supportedVersions": o.supportedVersions(),
		"capabilities":      o.capabilities(c.Revision),
		"instructions":      instructions,
	}, nil
}

// withCommonMembers returns a copy of a result with the members that all results of the
// method have in a stateless revision. It returns a result that is not an object unchanged.
func (c *Call) withCommonMembers(result any) any {
	given, isObject := result.(object)
	if !isObject {
		return result
	}
	o, meta := maps.Clone(given), object{}
	if m, ok := o["_meta"].(object); ok {
		meta = maps.Clone(m)
	}
	meta[metaServerInfo] = serverInfo(c.Revision)
	o["_meta"] = meta
	if _, typed := o["resultType"]; !typed {
		o["resultType"] = resultComplete
	}
	if lifetime, cacheable := lifetimes[c.Method]; cacheable && o["resultType"] == resultComplete {
		scope := "public"
		if c.isVolatile {
			lifetime = 0
		}
		if c.input != nil && c.input.requests > 0 { // the client's responses are part of the result
			lifetime, scope = 0, "private"
		}
		o["ttlMs"], o["cacheScope"] = lifetime, scope
	}
	return o
}
