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

// isRefusedOutright reports whether a flawless initialize was refused with an error that is not
// about its version, its params or an unknown method.
func isRefusedOutright(req *Request) bool {
	m := req.Responses[0].Message
	if !hasError(m) || m.Has("result") || !req.IsValidInitialize() {
		return false
	}
	switch code, _ := m.ErrorCode(); spec.Code(code) {
	case spec.CodeInvalidParams, spec.CodeMethodNotFound, spec.CodeUnsupported:
		return false
	}
	return !bytes.Contains(bytes.ToLower(m.Member("error")), []byte("version"))
}

// IsValidInitialize reports whether the request is a flawless initialize.
func (req *Request) IsValidInitialize() bool {
	if req.Message.Method != spec.MethodInitialize || !req.WellFormed || req.batched {
		return false
	}
	version, _ := wire.Text(req.Message.ParamAt("/protocolVersion"))
	if r := spec.Revision(version); !r.IsPublished() || r.Era() != spec.Handshake {
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

// requiredMembers are the members that a result of initialize must have.
var requiredMembers = []string{"/protocolVersion", "/capabilities", "/serverInfo", "/serverInfo/name", "/serverInfo/version"}

// checkInitializeResult returns the first required member that is missing, and the first other
// violation of the schema; a member of the wrong type is not missing. The tasks capability and the
// themes of icons have requirements of their own.
func checkInitializeResult(result jsontext.Value, r spec.Revision) (missing string, wrong *schema.Violation) {
	if r.Era() != spec.Handshake {
		r = spec.NewestHandshake
	}
	for _, v := range schema.For(r).CheckResult(spec.MethodInitialize, result) {
		switch {
		case v.Basis != schema.Schema || v.Place == "Icon.theme" || strings.HasPrefix(v.Place, "ServerCapabilities.tasks"):
		case v.Kind == schema.Missing && slices.Contains(requiredMembers, v.Pointer):
			if missing == "" {
				missing = strings.ReplaceAll(v.Pointer[1:], "/", ".")
			}
		case wrong == nil:
			wrong = &v
		}
	}
	return missing, wrong
}
