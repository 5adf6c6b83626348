// Package oddservers holds servers that misbehave in ways that no fault of the reference server
// can: they flood, hang, exit, repeat secrets, or send what is meant to break a client. The tests
// of the command line run the tool against them.
package oddservers

// Programs are the servers by the name of their program. Each gets its arguments, and returns the
// exit code of its process.
var Programs = map[string]func(args []string) int{
	"odd":   odd,
	"web":   web,
	"leaky": leaky,
	"gate":  gate,
}
