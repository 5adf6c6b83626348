// Package script holds what a client is to send as data: a Script is a sequence
// of operations on one conversation or several, a Player plays it on a server,
// and a Playback is the result. Scripts are drawn at random
// (internal/generate), written to and read from replay files, and made from
// recorded conversations. The fuzzer, replay and run --replay-files share them.
//
// A script judges nothing: what its playback shows is judged by rules and laws.
package script
