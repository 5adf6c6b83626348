// Package refserver is a complete MCP server for the four revisions that open
// with initialize. It has three uses: to try the harness without a server of
// your own, as an example for authors of servers in Go, and for the harness's
// self-test, which makes it misbehave through Seams.
//
// A Session is one client's session and does not depend on a transport: Deliver
// takes the client's frames, and a callback receives the server's. ServeStdio
// connects a Session to a pair of pipes; HTTPHandler and SSEHandler connect
// Sessions to HTTP; Listen serves a handler at an address.
//
// To follow an incoming message read stdio.go or http.go, then session.go,
// incoming.go and dispatch.go; for an outgoing one outgoing.go and ask.go. Each
// other file implements one feature; README.md lists them.
package refserver
