// Package oddservers holds servers that misbehave in ways that no fault of the reference server
// can: they flood, hang, exit, repeat secrets, or send data that is meant to break a client. The
// tests of the command line run the tool against them.
package oddservers

// Programs maps the name of a program to the function that runs its server. The function gets the
// arguments of the program, and returns its exit code.
var Programs = map[string]func(args []string) int{
	"odd":   odd,
	"web":   web,
	"leaky": leaky,
	"gate":  gate,
}
