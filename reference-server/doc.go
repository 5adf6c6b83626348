// Package refserver is a complete MCP server for all revisions: the four that open
// with initialize, and 2026-07-28, which has no handshake. It has three uses: to try
// the harness without a server of your own, as an example for authors of servers in
// Go, and for the harness's self-test, which makes it misbehave through Seams.
//
// A Session is one client's session and does not depend on a transport: Deliver
// takes the client's frames, and a callback receives the server's. ServeStdio
// connects a Session to a pair of pipes; HTTPHandler and SSEHandler connect
// Sessions to HTTP; Listen serves a handler at an address.
//
// A request that names revision 2026-07-28 is handled independently of the revision that its
// session has negotiated: handlers take the revision and the client's capabilities from the Call,
// not from the Session. Over HTTP each such request has a Session of its own.
//
// To follow an incoming message, read stdio.go or http.go, then session.go, incoming.go and
// dispatch.go, and stateless.go for 2026-07-28. To follow an outgoing message, read outgoing.go
// and ask.go. Each other file implements one feature; README.md lists them.
package refserver
