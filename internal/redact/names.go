package redact

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
)

var wordEdge = lazyregexp.New(`([a-z0-9])([A-Z])`)

// The last words of names whose values are secrets. There are more words for settings than
// for members of messages: programs take --key and PASS, whereas a message may have a key
// of any kind.
var (
	memberWords = []string{
		"token", "tokens", "secret", "secrets", "password", "passwords", "passwd", "passphrase", "pwd", "credential", "credentials",
		"authorization", "cookie", "cookies", "jwt", "bearer", "apikey", "apikeys",
	}
	memberPairs  = []string{"api key", "api keys", "access key", "private key", "secret key", "signing key", "encryption key"}
	settingWords = append([]string{"pass", "key", "keys", "pat", "dsn", "auth", "signature"}, memberWords...)
)

// splitWords splits a name into words, in lower case.
func splitWords(name string) []string {
	return strings.FieldsFunc(strings.ToLower(wordEdge.ReplaceAllString(name, "${1}_$2")), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
}

// IsSecretMember reports whether the value of a member or header of this name is usually a secret.
// A progress token is not a secret, because it only links messages.
func IsSecretMember(name string) bool {
	all := splitWords(name)
	if name == "progressToken" || len(all) == 0 {
		return false
	}
	return slices.Contains(memberWords, all[len(all)-1]) || len(all) > 1 && slices.Contains(memberPairs, strings.Join(all[len(all)-2:], " "))
}

// IsSecretSetting reports whether a variable, flag, header or query parameter of this
// name usually holds a secret: --max-token-count does not, --access-token does.
func IsSecretSetting(name string) bool {
	all := splitWords(name)
	return len(all) > 0 && slices.Contains(settingWords, all[len(all)-1])
}

// IsSecretFlag reports whether arg is a flag whose value, the next argument, is usually
// a secret.
func IsSecretFlag(arg string) bool {
	return strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") && !strings.HasPrefix(arg, "--no-") && IsSecretSetting(arg)
}
