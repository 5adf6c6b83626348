package sweep

import (
	"net/url"
	"strings"
)

// An OptOut lists servers that must not be judged, one per line: the name of a server, a
// host, *.HOST for all subdomains of HOST, or the beginning of a URL. A # begins a comment.
type OptOut struct{ rules []string }

// ReadOptOut reads an opt-out list from a file. Its errors are usage errors.
func ReadOptOut(path string) (*OptOut, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	o := &OptOut{}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if wrong := whyRuleInvalid(line); wrong != "" {
			return nil, usagef("write a name, a host, *.HOST or the beginning of a URL, such as https://example.com/mcp", "%s: %q matches no server: %s", path, line, wrong)
		}
		o.rules = append(o.rules, line)
	}
	return o, nil
}

// whyRuleInvalid returns why a rule can't match any server, or "".
func whyRuleInvalid(rule string) string {
	u, err := url.Parse(rule)
	switch {
	case strings.Contains(rule, "://") && (err != nil || u.Host == ""):
		return "it is not a URL"
	case strings.HasPrefix(rule, "*") && !strings.HasPrefix(rule, "*."):
		return "a * may only stand before a dot"
	}
	return ""
}

// matchingRule returns the line of the opt-out list that the entry matches, or "" if it matches
// none.
func (o *OptOut) matchingRule(e *Entry) string {
	if o == nil {
		return ""
	}
	address, host := e.address(), e.host()
	for _, rule := range o.rules {
		below, wild := strings.CutPrefix(rule, "*")
		switch {
		case rule == e.Name,
			host != "" && strings.EqualFold(strings.TrimSuffix(rule, "."), host),
			host != "" && wild && strings.HasPrefix(below, ".") && strings.HasSuffix(host, strings.ToLower(below)),
			matchesURL(address, rule):
			return rule
		}
	}
	return ""
}

// matchesURL reports whether a URL begins with the rule. The rule may lack the scheme.
func matchesURL(address, rule string) bool {
	if strings.Contains(rule, "://") {
		return hasURLPrefix(canonicalURL(address), canonicalURL(rule))
	}
	return address != "" && strings.ContainsAny(rule, "/:") && (matchesURL(address, "https://"+rule) || matchesURL(address, "http://"+rule))
}

// hasURLPrefix reports whether a URL begins with the prefix, and the prefix ends where the URL's
// host or a segment of its path ends.
func hasURLPrefix(url, prefix string) bool {
	rest, ok := strings.CutPrefix(url, strings.TrimSuffix(prefix, "/"))
	return ok && (rest == "" || strings.ContainsAny(rest[:1], "/?#"))
}

// canonicalURL returns a URL with its scheme and host in lower case, and without user, default port
// and a dot at the end of the host, so that two spellings of a URL are equal.
func canonicalURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	host := hostOf(u)
	if port := u.Port(); port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		host += ":" + port
	}
	u.Host, u.User = host, nil
	return u.String()
}
