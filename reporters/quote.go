package reporters

import "strings"

// plain contains the characters that have no special meaning inside a word of a
// POSIX shell.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-"

// ShellQuote returns argv as one command line that a POSIX shell splits back into argv. It quotes
// words only where necessary. argv must not contain NUL bytes.
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
