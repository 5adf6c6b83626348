package wire

// IsWellFormedRequest reports whether the message is a valid request in JSON-RPC 2.0 and MCP.
func (m *Message) IsWellFormedRequest() bool {
	return m.HasVersion() && m.Method != "" && m.ID.IsLegal() && m.HasStructuredParams() && !hasOtherMembers(m) && hasLegalMeta(m) && hasNumbersInRange(m)
}

// HasVersion reports whether the message has the member jsonrpc with the value "2.0".
func (m *Message) HasVersion() bool {
	version, _ := Text(m.Member("jsonrpc"))
	return version == "2.0"
}

// HasStructuredParams reports whether the params are an object or missing.
func (m *Message) HasStructuredParams() bool {
	return !m.Has("params") || m.Params().Kind() == '{'
}

// hasOtherMembers reports whether m has members that no request has. The specification does not
// say that a server ignores them, so it may refuse them.
func hasOtherMembers(m *Message) bool {
	for name := range m.Members {
		switch name {
		case "jsonrpc", "id", "method", "params":
		default:
			return true
		}
	}
	return false
}

// hasNumbersInRange reports whether m has no number that a JSON parser may refuse for its size. It
// ignores the id, which IsLegal checks.
func hasNumbersInRange(m *Message) bool {
	for name, value := range m.Members {
		if name != "id" && HasNumberOutOfRange(value) {
			return false
		}
	}
	return true
}

// hasLegalMeta reports whether the params have no _meta, or an object whose progressToken, if
// present, is a string or an integer. A receiver may refuse any other _meta.
func hasLegalMeta(m *Message) bool {
	meta := m.ParamAt("/_meta")
	if meta == nil {
		return true
	}
	token := At(meta, "/progressToken")
	return meta.Kind() == '{' && (token == nil || RawID(string(token)).IsLegal())
}
