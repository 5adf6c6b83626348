package refserver

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// The headers of revision 2026-07-28 that repeat members of the body
// (basic/transports/streamable-http, section Request Metadata).
const (
	methodHeader = "Mcp-Method"
	nameHeader   = "Mcp-Name"
	paramHeader  = "Mcp-Param-"
)

// nameMembers are the members of params that Mcp-Name repeats, by method.
var nameMembers = map[string]string{
	spec.MethodToolsCall:     "name",
	spec.MethodPromptsGet:    "name",
	spec.MethodResourcesRead: "uri",
}

func headerMismatch(format string, args ...any) *Error {
	return &Error{Code: spec.CodeHeaderMismatch, Message: "Header mismatch: " + fmt.Sprintf(format, args...)}
}

// checkHeaders compares the headers of a POST with its body; over stdio there is nothing to
// compare. It checks the version first, because the rules for the other headers depend on
// the revision.
func (c *Call) checkHeaders() *Error {
	if c.Header == nil {
		return nil
	}
	version, err := c.header(versionHeader)
	if err != nil {
		return err
	}
	// If the body has no version, checkMeta refuses the request later, as over stdio.
	if named, ok := wire.Text(c.meta()[metaVersion]); ok && named != version {
		return headerMismatch("MCP-Protocol-Version is %q, and _meta has %q", version, named)
	}
	if o := &c.Session.options; !slices.Contains(o.statelessRevisions(), spec.Revision(version)) {
		return o.unsupportedVersion(version)
	}
	method, err := c.header(methodHeader)
	if err != nil {
		return err
	}
	if method != c.Method {
		return headerMismatch("%s is %q, and the method %q", methodHeader, method, c.Method)
	}
	if err := c.checkNameHeader(); err != nil {
		return err
	}
	return c.checkParamHeaders()
}

// header returns the value of a required header. It returns an error if the header is missing,
// repeated or malformed.
func (c *Call) header(name string) (string, *Error) {
	switch given := c.Header.Values(name); {
	case len(given) == 0:
		return "", headerMismatch("%s is missing", name)
	case len(given) > 1:
		return "", headerMismatch("%s occurs %d times", name, len(given))
	case !isHeaderText(given[0]):
		return "", headerMismatch("%s has characters that no header may have", name)
	default:
		return given[0], nil
	}
}

// decodedHeader is like header, but decodes a value that is marked as base64.
func (c *Call) decodedHeader(name string) (string, *Error) {
	value, err := c.header(name)
	if err != nil {
		return "", err
	}
	text, ok := decodeHeader(value)
	if !ok {
		return "", headerMismatch("%s can't be decoded", name)
	}
	return text, nil
}

// isHeaderText reports whether text consists of characters that a header value may contain:
// printable ASCII and tabs.
func isHeaderText(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c != '\t' && (c < ' ' || c > '~') })
}

// decodeHeader returns the text of a header value, decoded if the value is marked as base64. It
// returns false if a value that is marked as base64 does not encode UTF-8 text.
func decodeHeader(value string) (string, bool) {
	const prefix, suffix = "=?base64?", "?="
	if len(value) < len(prefix)+len(suffix) || !strings.HasPrefix(value, prefix) || !strings.HasSuffix(value, suffix) {
		return value, true
	}
	text, err := base64.StdEncoding.Strict().DecodeString(value[len(prefix) : len(value)-len(suffix)])
	return string(text), err == nil && utf8.Valid(text)
}

// checkNameHeader compares Mcp-Name with the body, for the methods in nameMembers. If the body
// has no name, the header must be absent, too; the check of the params refuses such a request
// later.
func (c *Call) checkNameHeader() *Error {
	member, required := nameMembers[c.Method]
	if !required {
		return nil
	}
	inBody, hasName := wire.Text(c.fields()[member])
	if !hasName && c.Header.Values(nameHeader) == nil {
		return nil
	}
	name, err := c.decodedHeader(nameHeader)
	switch {
	case err != nil:
		return err
	case !hasName || name != inBody:
		return headerMismatch("%s is %q, and params.%s %q", nameHeader, name, member, inBody)
	default:
		return nil
	}
}

// checkParamHeaders checks the headers that repeat arguments of a tool, if the request
// calls a tool. It ignores headers that the tool's schema does not name.
func (c *Call) checkParamHeaders() *Error {
	name, _ := wire.Text(c.fields()["name"])
	i := slices.IndexFunc(c.tools(), func(t *tool) bool { return t.name == name })
	if c.Method != spec.MethodToolsCall || i < 0 {
		return nil
	}
	schema := c.tools()[i].inputSchema(c.Revision)
	for header, path := range paramHeaders(schema, nil) {
		if err := c.checkParamHeader(paramHeader+header, valueAt(c.fields()["arguments"], path)); err != nil {
			return err
		}
	}
	return nil
}

// paramHeaders returns the paths of the arguments that a schema marks with x-mcp-header. The keys
// are the values of x-mcp-header. path is the path of the schema itself.
func paramHeaders(schema object, path []string) map[string][]string {
	found := map[string][]string{}
	properties, _ := schema["properties"].(object)
	for name, value := range properties {
		property, _ := value.(object)
		childPath := append(slices.Clone(path), name)
		if header, ok := property[headerKeyword].(string); ok {
			found[header] = childPath
		}
		maps.Copy(found, paramHeaders(property, childPath))
	}
	return found
}

// valueAt returns the value at a path of member names, or nil.
func valueAt(v jsontext.Value, path []string) jsontext.Value {
	for _, name := range path {
		_, members := wire.Members(v)
		if v = members[name]; v == nil {
			return nil
		}
	}
	return v
}

// checkParamHeader compares a header with the argument that it repeats. There must be no
// header for an argument that is absent or null, or that a header can't represent, such
// as an object. The check of the arguments refuses a wrong type later.
func (c *Call) checkParamHeader(header string, v jsontext.Value) *Error {
	inBody, isText := wire.Text(v)
	switch v.Kind() {
	case 't', 'f', '0':
		inBody = string(v)
	default:
		if isText {
			break
		}
		if c.Header.Values(header) != nil {
			return headerMismatch("%s is given, and its argument is not", header)
		}
		return nil
	}
	value, err := c.decodedHeader(header)
	switch {
	case err != nil:
		return err
	case value != inBody && !(v.Kind() == '0' && isSameNumber(value, inBody)):
		return headerMismatch("%s is not the value of its argument", header)
	default:
		return nil
	}
}

// isSameNumber reports whether a is a JSON number with the same value as the JSON number b, such
// as 42.0 and 42.
func isSameNumber(a, b string) bool {
	if v := jsontext.Value(a); !v.IsValid() || v.Kind() != '0' {
		return false
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(a), 64)
	y, err2 := strconv.ParseFloat(strings.TrimSpace(b), 64)
	return err == nil && err2 == nil && x == y
}

// statusOf returns the HTTP status of a response with an error.
func statusOf(e *Error) int {
	switch {
	case e.Status != 0:
		return e.Status
	case e.Code == spec.CodeMethodNotFound:
		return http.StatusNotFound
	case e.Code == spec.CodeParse, e.Code == spec.CodeInvalidRequest,
		e.Code == spec.CodeHeaderMismatch, e.Code == spec.CodeMissingClientCap, e.Code == spec.CodeUnsupported:
		return http.StatusBadRequest
	default:
		return http.StatusOK
	}
}
