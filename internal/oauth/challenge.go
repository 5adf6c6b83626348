package oauth

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Challenge is one challenge of a WWW-Authenticate header (RFC 9110, section 11.6.1).
type Challenge struct {
	Scheme string // as written
	Params map[string]string
	// Token68 is the single value that some schemes have instead of parameters.
	Token68 string
}

// IsBearer reports whether the challenge asks for a bearer token.
func (c Challenge) IsBearer() bool { return strings.EqualFold(c.Scheme, "Bearer") }

// BearerToken returns the token in the value of an Authorization header, or "" if the header has
// another scheme.
func BearerToken(value string) string {
	scheme, token, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// Param returns the parameter with the given name, which must be in lower case, or "" if it is
// absent.
func (c Challenge) Param(name string) string { return c.Params[name] }

// BearerChallenge returns the Bearer challenge, or false if there is none. It merges several Bearer
// challenges into one; if they share a parameter, the first one counts.
func BearerChallenge(all []Challenge) (Challenge, bool) {
	merged, found := Challenge{Params: map[string]string{}}, false
	for _, c := range slices.Backward(all) {
		if c.IsBearer() {
			maps.Copy(merged.Params, c.Params)
			merged.Scheme, found = c.Scheme, true
		}
	}
	return merged, found
}

// ParseChallenges parses the values of a response's WWW-Authenticate headers. After a syntax error
// it returns the error and the challenges before it. It also returns an error if there is no
// challenge.
func ParseChallenges(lines []string) ([]Challenge, error) {
	var out []Challenge
	for _, line := range lines {
		items, err := splitItems(line)
		for _, item := range items {
			if err := addItem(&out, item); err != nil {
				return out, err
			}
		}
		if err != nil {
			return out, err
		}
	}
	if len(out) == 0 {
		return nil, errors.New("it has no challenge")
	}
	return out, nil
}

// splitItems splits a line at the commas outside quoted strings, and drops empty items. If a quoted
// string is not closed, splitItems returns an error and the items before the one with that string.
func splitItems(line string) (items []string, err error) {
	from, quoted := 0, false
	flush := func(to int) {
		if item := strings.Trim(line[from:to], " \t"); item != "" {
			items = append(items, item)
		}
		from = to + 1
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			flush(i)
		}
	}
	if quoted {
		return items, errors.New("a quoted string does not end")
	}
	flush(len(line))
	return items, nil
}

// addItem adds an item between two commas: a parameter of the last challenge, or a new challenge
// with its first parameter or its token68.
func addItem(out *[]Challenge, item string) error {
	if name, value, ok := parseParameter(item); ok && len(*out) > 0 {
		return (*out)[len(*out)-1].setParam(name, value, item)
	}
	scheme, rest, _ := strings.Cut(item, " ")
	if !isToken(scheme) {
		return fmt.Errorf("%q is neither a scheme nor a parameter", item)
	}
	c := Challenge{Scheme: scheme, Params: map[string]string{}}
	rest = strings.Trim(rest, " \t")
	if name, value, ok := parseParameter(rest); ok {
		if err := c.setParam(name, value, rest); err != nil {
			return err
		}
	} else if rest != "" {
		if !isToken68(rest) {
			return fmt.Errorf("%q after the scheme %s is neither a parameter nor a token", rest, scheme)
		}
		c.Token68 = rest
	}
	*out = append(*out, c)
	return nil
}

// setParam sets a parameter. value is the value as written, which may be a quoted string, and item
// is the whole item, for errors.
func (c *Challenge) setParam(name, value, item string) error {
	if c.Token68 != "" {
		return fmt.Errorf("%q follows a token", item)
	}
	name = strings.ToLower(name)
	if _, twice := c.Params[name]; twice {
		return fmt.Errorf("the parameter %s occurs twice", name)
	}
	text, ok := unquote(value)
	if !ok {
		return fmt.Errorf("the value of the parameter %s is neither a token nor a quoted string: %s", name, value)
	}
	c.Params[name] = text
	return nil
}

// parseParameter splits an item into the name and the value of a parameter. It returns false if the
// value is empty or only padding, because then the item is a token68. It does not check the value
// otherwise.
func parseParameter(item string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(item, "=")
	name, value = strings.TrimRight(name, " \t"), strings.TrimLeft(value, " \t")
	return name, value, ok && isToken(name) && strings.Trim(value, "=") != ""
}

// unquote returns the value of a token or of a quoted string, or false if it is neither.
func unquote(value string) (string, bool) {
	if !strings.HasPrefix(value, `"`) {
		return value, isToken(value)
	}
	var text strings.Builder
	for i := 1; i < len(value); i++ {
		switch c := value[i]; {
		case c == '\\' && i+1 < len(value):
			i++
			text.WriteByte(value[i])
		case c == '"':
			return text.String(), i == len(value)-1
		default:
			text.WriteByte(c)
		}
	}
	return "", false
}

// isToken reports whether text is a token of RFC 9110, section 5.6.2.
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

// isToken68 reports whether text is a token68 of RFC 9110, section 11.2.
func isToken68(text string) bool {
	body := strings.TrimRight(text, "=")
	return body != "" && !strings.ContainsFunc(body, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && !strings.ContainsRune("-._~+/", c)
	})
}

// IsScopeList reports whether text is a list of scope tokens, separated by single spaces (RFC 6749,
// section 3.3).
func IsScopeList(text string) bool {
	for scope := range strings.SplitSeq(text, " ") {
		if scope == "" || strings.ContainsFunc(scope, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }) {
			return false
		}
	}
	return true
}
