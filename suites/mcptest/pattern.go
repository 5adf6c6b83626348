package mcptest

import (
	"regexp"
	"strings"
)

// subtestPattern returns the pattern by which -run selects subtests of a test, or nil if -run
// selects all of them, or does not select the test at all. It reads -run as go test does:
// alternatives, each with a pattern for every level of subtests.
func subtestPattern(run, test string) (*regexp.Regexp, error) {
	names := strings.Split(test, "/")
	var wanted []string
	for _, alternative := range splitPattern(run, '|') {
		levels := splitPattern(alternative, '/')
		above, below := levels[:min(len(levels), len(names))], levels[min(len(levels), len(names)):]
		if matches, err := matchAll(above, names); err != nil || !matches {
			if err != nil {
				return nil, err
			}
			continue
		}
		if len(below) == 0 || below[0] == "" {
			return nil, nil
		}
		wanted = append(wanted, "(?:"+below[0]+")")
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	return regexp.Compile(strings.Join(wanted, "|"))
}

// matchAll reports whether each pattern matches the name at the same index. Names of tests have
// underscores instead of spaces.
func matchAll(patterns, names []string) (bool, error) {
	for i, p := range patterns {
		if matches, err := regexp.MatchString(strings.ReplaceAll(p, " ", "_"), names[i]); err != nil || !matches {
			return false, err
		}
	}
	return true, nil
}

// splitPattern splits a regular expression at a separator that is neither escaped nor in
// brackets or parentheses.
func splitPattern(pattern string, separator byte) []string {
	var out []string
	begin, brackets, parentheses := 0, 0, 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '[':
			brackets++
		case c == ']':
			brackets = max(0, brackets-1)
		case c == '(' && brackets == 0:
			parentheses++
		case c == ')' && brackets == 0:
			parentheses--
		case c == separator && brackets == 0 && parentheses == 0:
			out = append(out, pattern[begin:i])
			begin = i + 1
		}
	}
	return append(out, pattern[begin:])
}
