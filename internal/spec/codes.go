package spec

import "slices"

// A Code is a JSON-RPC error code.
type Code int64

// Error codes of JSON-RPC 2.0 and of the specification.
const (
	CodeParse            Code = -32700
	CodeInvalidRequest   Code = -32600
	CodeMethodNotFound   Code = -32601
	CodeInvalidParams    Code = -32602
	CodeInternal         Code = -32603
	CodeResourceNotFound Code = -32002 // up to 2025-11-25
	CodeURLElicitation   Code = -32042 // 2025-11-25 only
	CodeHeaderMismatch   Code = -32020 // from 2026-07-28
	CodeMissingClientCap Code = -32021 // from 2026-07-28
	CodeUnsupported      Code = -32022 // from 2026-07-28
)

// A Mistake is a reason why a request can fail, for which the specification or JSON-RPC 2.0
// defines error codes.
type Mistake int

// The mistakes.
const (
	Unparsable Mistake = iota
	NotARequest
	UnknownMethod
	BadParams
	UnknownResource
	UnsupportedVersion
)

// CodesFor returns the codes that revision r defines for mistake m.
func CodesFor(m Mistake, r Revision) []Code {
	switch m {
	case Unparsable:
		return []Code{CodeParse}
	case NotARequest:
		return []Code{CodeInvalidRequest}
	case UnknownMethod:
		return []Code{CodeMethodNotFound}
	case UnknownResource:
		if r.Era() == Handshake {
			return []Code{CodeResourceNotFound}
		}
		return []Code{CodeInvalidParams}
	case UnsupportedVersion:
		if r.Era() == Handshake {
			return []Code{CodeInvalidParams}
		}
		return []Code{CodeUnsupported}
	default:
		return []Code{CodeInvalidParams}
	}
}

// IsCodeFor reports whether code is one of those that revision r defines for mistake m.
func IsCodeFor(m Mistake, r Revision, code Code) bool {
	return slices.Contains(CodesFor(m, r), code)
}
