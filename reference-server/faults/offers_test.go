package faults_test

import "github.com/mcp-conform/mcp-conform/internal/spec"

// offersConversation returns a conversation that uses tools, prompts and completion in
// unusual ways. Only faults and variations in these areas change it.
func offersConversation(r spec.Revision) conversation {
	return conversation{answers: 12, chunks: []string{
		initialize(string(r), "{}") + initialized,
		request("1", "tools/call", `{"name":"echo","arguments":{"text":"a","mcp-conform-extra":true}}`),
		request("2", "prompts/list", "{}"), request("3", "prompts/list", ""),
		request("4", "prompts/get", `{"name":"hello","arguments":{"mcp-conform":"a"}}`),
		request("5", "prompts/get", `{"name":"greeting","arguments":{"name":null}}`),
		request("6", "completion/complete", `{"ref":{"type":"ref/resource","uri":"demo://none/{x}"},"argument":{"name":"x","value":""}}`),
		request("7", "completion/complete", `{"ref":{"type":"ref/prompt","name":"hello"},"argument":{"name":"x","value":""}}`),
		request("8", "completion/complete", `{"ref":{"type":"ref/prompt","name":"hello"},"argument":{"name":"x","value":5}}`),
		request("9", "tools/list", ""), request("10", "tools/list", ""),
		request("11", "tools/call", `{"name":"fail","arguments":{}}`),
	}}
}
