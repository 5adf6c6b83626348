package transcript

import "github.com/mcp-conform/mcp-conform/internal/wire"

// An InputRequest is an entry of the inputRequests of a result (2026-07-28,
// basic/patterns/mrtr#inputrequests).
type InputRequest struct {
	Key           string
	*wire.Message // as a request that has neither id nor jsonrpc
}

// InputRequests returns the entries of inputRequests in their order. An entry that is not
// an object has no members.
func InputRequests(m *wire.Message) []InputRequest {
	if !m.Has("result") {
		return nil
	}
	var out []InputRequest
	keys, values := wire.Members(m.ResultAt("/inputRequests"))
	for _, key := range keys {
		names, members := wire.Members(values[key])
		in := &wire.Message{Kind: wire.Request, Raw: values[key], Members: members, Names: names}
		in.Method, _ = wire.Text(members["method"])
		out = append(out, InputRequest{key, in})
	}
	return out
}
