// Package refserver is a complete MCP server for the four revisions that open
// with initialize. It serves three readers: people who want to try the
// harness without a server of their own, people who write a server in Go and
// look for an example, and the harness's self-test, which makes it misbehave
// through Seams.
//
// A Session holds all that is between one client and the server and knows
// nothing of transports: frames go in by Deliver and come out through a
// callback. ServeStdio joins a Session to a pair of pipes, HTTPHandler and
// SSEHandler join Sessions to HTTP; Listen puts a handler at an address.
//
// How to read it: stdio.go or http.go, session.go, incoming.go and dispatch.go
// carry a message in; outgoing.go and ask.go carry one out; the other files hold
// a feature each. README.md says which.
package refserver
