package rules

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// refusedOutright reports whether a flawless initialize was refused for another reason than its
// version or an unknown method.
func refusedOutright(req *Request) bool {
	m := req.Responses[0].Message
	if !hasError(m) || m.Has("result") || !req.SoundInitialize() {
		return false
	}
	switch code, _ := m.ErrorCode(); spec.Code(code) {
	case spec.CodeInvalidParams, spec.CodeMethodNotFound, spec.CodeUnsupported:
		return false
	}
	return !bytes.Contains(bytes.ToLower(m.Member("error")), []byte("version"))
}

// SoundInitialize reports whether the request is a flawless initialize.
func (req *Request) SoundInitialize() bool {
	if req.Message.Method != spec.MethodInitialize || !req.WellFormed || req.batched {
		return false
	}
	version, _ := wire.Text(req.Message.ParamAt("/protocolVersion"))
	if r := spec.Revision(version); !r.Published() || r.Era() != spec.Handshake {
		return false
	}
	for _, name := range []string{"name", "version"} {
		if _, ok := wire.Text(req.Message.ParamAt("/clientInfo/" + name)); !ok {
			return false
		}
	}
	names, _ := wire.Members(req.Message.ParamAt("/capabilities"))
	// Other rules judge the refusal of an unknown capability.
	return req.Message.ParamAt("/capabilities").Kind() == '{' && !slices.ContainsFunc(names, isUnknownCapability)
}

func isUnknownCapability(name string) bool {
	return !slices.Contains([]string{"roots", "sampling", "elicitation"}, name)
}

// demanded are the members that a result of initialize must have.
var demanded = []string{"/protocolVersion", "/capabilities", "/serverInfo", "/serverInfo/name", "/serverInfo/version"}

// initializeShape returns the first demanded member that is missing, and the first other
// violation of the schema; a member of the wrong type is not missing. The tasks capability and
// the themes of icons have requirements of their own.
func initializeShape(result jsontext.Value, r spec.Revision) (missing string, wrong *schema.Violation) {
	if r.Era() != spec.Handshake {
		r = spec.V20251125 // the last that has initialize
	}
	for _, v := range schema.For(r).Result(spec.MethodInitialize, result) {
		switch {
		case v.Basis != schema.Schema || v.Place == "Icon.theme" || strings.HasPrefix(v.Place, "ServerCapabilities.tasks"):
		case v.Kind == schema.Missing && slices.Contains(demanded, v.Pointer):
			if missing == "" {
				missing = strings.ReplaceAll(v.Pointer[1:], "/", ".")
			}
		case wrong == nil:
			wrong = &v
		}
	}
	return missing, wrong
}
