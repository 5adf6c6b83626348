package reporters

import "strings"

// plain holds the characters that mean nothing to a POSIX shell inside a word.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-"

// ShellQuote returns argv as one command line that a POSIX shell splits back
// into argv. Words are quoted only where that is needed. An argument can't
// hold a NUL byte, and none is expected.
func ShellQuote(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		assigns := i == 0 && strings.Contains(arg, "=") // the shell would set a variable
		if arg != "" && !assigns && strings.Trim(arg, plain) == "" {
			words[i] = arg
			continue
		}
		words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}
