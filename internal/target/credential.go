package target

import (
	"strings"
	"unicode"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/redact"
)

// A Credential is a secret in an environment variable that the user names.
type Credential struct {
	What     string // the flag or key that names the variable, such as --bearer-env
	Variable string
	Token    bool // whether it is a bearer token; otherwise it is a password, which may have spaces
}

// Read returns the secret without surrounding spaces, and adds it to secrets. lookup is
// os.LookupEnv or a replacement. Errors are of type *UsageError. If the variable is not set or is
// empty, and Variable does not look like the name of one, the error does not show Variable, because
// the user may have given the secret itself.
func (c *Credential) Read(lookup func(name string) (string, bool), secrets *redact.Secrets) (string, error) {
	text, set := lookup(c.Variable)
	secret := strings.TrimSpace(text)
	secrets.AddNamed("token", secret) // without the word Bearer
	secrets.Add(secret)
	word, _, several := strings.Cut(secret, " ")
	switch {
	case secret == "" && !variableName.MatchString(c.Variable):
		secrets.Add(c.Variable)
		return "", newUsageError("", c.What+" takes the name of an environment variable, but none has the given name, which is not shown because it may be a secret",
			"put the secret into a variable, and name that variable: "+c.What+" MCP_TOKEN")
	case !set || secret == "":
		return "", newUsageError("", c.What+" names "+quote(c.Variable)+", and that variable is not set, or empty", c.advice())
	case c.Token && several && strings.EqualFold(word, "Bearer"):
		return "", newUsageError("", c.What+" names "+quote(c.Variable)+", and that variable begins with the word Bearer", c.advice())
	case strings.ContainsFunc(secret, unicode.IsControl):
		return "", newUsageError("", c.What+" names "+quote(c.Variable)+", and that variable contains a line break or another control character", c.advice())
	case c.Token && strings.ContainsFunc(secret, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsSpace(r) }):
		return "", newUsageError("", c.What+" names "+quote(c.Variable)+", and that variable contains a character that no token has", c.advice())
	}
	return secret, nil
}

func (c *Credential) advice() string {
	if c.Token {
		return "set it to the token, without the word Bearer"
	}
	return "set it to the secret"
}

// variableName matches strings that are certainly names of variables, not secrets.
var variableName = lazyregexp.New(`^([A-Z_][A-Z0-9_]{0,39}|[a-z_]{1,40})$`)
