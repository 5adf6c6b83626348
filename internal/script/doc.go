// Package script represents what a client sends as data: a Script is a sequence of operations on
// one or several conversations, a Player plays it on a server, and a Playback is the result.
// Scripts are drawn at random (internal/generate), read from replay files, or built from recorded
// conversations. The fuzzer, replay and run --replay-files share this package.
//
// A script judges nothing: its playback is judged by the rules (internal/rules) or by the fuzzer's
// laws.
package script
