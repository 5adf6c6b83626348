package sweep

import (
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
		if line = strings.TrimSpace(line); line != "" {
			o.rules = append(o.rules, line)
		}
	}
	return o, nil
}

// matches returns the line of the opt-out list that the entry matches, or "" if it matches none.
func (o *OptOut) matches(e *Entry) string {
	if o == nil {
		return ""
	}
	host := e.host()
	for _, rule := range o.rules {
		below, wild := strings.CutPrefix(rule, "*")
		switch {
		case rule == e.Name,
			e.URL != "" && strings.EqualFold(rule, host),
			e.URL != "" && wild && strings.HasPrefix(below, ".") && strings.HasSuffix(host, strings.ToLower(below)),
			strings.Contains(rule, "://") && beginsURL(e.URL, rule):
			return rule
		}
	}
	return ""
}

// beginsURL reports whether a URL begins with the prefix, which must end at a segment of the
// URL's path.
func beginsURL(url, prefix string) bool {
	rest, ok := strings.CutPrefix(url, strings.TrimSuffix(prefix, "/"))
	return ok && (rest == "" || strings.ContainsAny(rest[:1], "/?#"))
}
