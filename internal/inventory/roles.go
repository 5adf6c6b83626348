package inventory

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Role is what a call of a tool is known to do. Cases find the calls that
// they need by role.
type Role string

// The roles.
const (
	Slow     Role = "slow"     // takes a while, and reports progress as it runs
	Progress Role = "progress" // reports progress
	Logging  Role = "logging"  // sends log messages

	AsksSampling    Role = "sampling"    // requests sampling from the client
	AsksElicitation Role = "elicitation" // requests elicitation from the client
	AsksRoots       Role = "roots"       // requests the client's roots

	ChangesResource  Role = "changes-resource"  // changes the content of a resource
	ChangesTools     Role = "changes-tools"     // changes the list of tools
	ChangesResources Role = "changes-resources" // changes the list of resources
	ChangesPrompts   Role = "changes-prompts"   // changes the list of prompts

	Fails      Role = "fails"      // has a result with isError
	Structured Role = "structured" // has a structured result

	GivesText     Role = "text"          // has a text block in its result
	GivesImage    Role = "image"         // has an image in its result
	GivesAudio    Role = "audio"         // has audio in its result
	GivesResource Role = "resource"      // has an embedded resource in its result
	GivesLink     Role = "resource-link" // has a link to a resource in its result
)

// Long is the role of a call that reports progress like a slow one, but takes so long that a case
// should not wait for its end more often than necessary. Roles omits it, because the configuration
// can't name it: a run only learns it from a call.
const Long Role = "long"

// Roles returns all roles.
func Roles() []Role {
	return []Role{
		Slow, Progress, Logging, AsksSampling, AsksElicitation, AsksRoots,
		ChangesResource, ChangesTools, ChangesResources, ChangesPrompts,
		Fails, Structured, GivesText, GivesImage, GivesAudio, GivesResource, GivesLink,
	}
}

// ExistsIn reports whether the revision defines what a tool of the role does.
func (r Role) ExistsIn(rev spec.Revision) bool {
	switch r {
	case Structured, GivesLink, AsksElicitation:
		return rev.AtLeast(spec.V20250618)
	case GivesAudio:
		return rev.AtLeast(spec.V20250326)
	default:
		return true
	}
}

// IsShownBy reports whether a response to tools/call shows that the call plays the role: the result
// has isError, is structured, or has content of the role's kind. It returns false for roles that no
// response can show.
func (r Role) IsShownBy(response *wire.Message) bool {
	result := response.Result()
	kind := map[Role]string{
		GivesText: "text", GivesImage: "image", GivesAudio: "audio", GivesResource: "resource", GivesLink: "resource_link",
	}[r]
	switch {
	case r == Fails:
		return string(wire.At(result, "/isError")) == "true"
	case r == Structured:
		return wire.At(result, "/structuredContent") != nil
	case kind == "":
		return false
	}
	return slices.ContainsFunc(wire.Elements(wire.At(result, "/content")), func(block jsontext.Value) bool {
		got, _ := wire.Text(wire.At(block, "/type"))
		return got == kind
	})
}

// AskingRole returns the role of calls that send the client a request with the
// method, or "".
func AskingRole(method string) Role {
	switch method {
	case spec.MethodSampling:
		return AsksSampling
	case spec.MethodElicit:
		return AsksElicitation
	case spec.MethodRootsList:
		return AsksRoots
	default:
		return ""
	}
}

// ChangingRole returns the role of calls that change the list which the method returns, or "".
func ChangingRole(method string) Role {
	switch method {
	case spec.MethodToolsList:
		return ChangesTools
	case spec.MethodResourcesList:
		return ChangesResources
	case spec.MethodPromptsList:
		return ChangesPrompts
	default:
		return ""
	}
}

// FixtureLine returns an example of the line that names a call with the role. It belongs below the
// key fixtures of the configuration.
func FixtureLine(role Role) string {
	rest := ""
	switch role {
	case ChangesResource:
		rest = ", resource: URI"
	case Slow:
		return "slow: {tool: NAME, arguments: {duration: '{seconds}', steps: '{steps}'}}"
	}
	return string(role) + ": {tool: NAME, arguments: {…}" + rest + "}"
}
