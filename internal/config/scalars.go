package config

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-conform/mcp-conform/internal/spelling"
)

// checkScalar checks the value of a key that takes neither a mapping nor a list.
func (r *reader) checkScalar(n *yaml.Node, k *Key, path string) {
	switch k.Kind {
	case Choice:
		if n.Kind != yaml.ScalarNode || !slices.Contains(k.Values, n.Value) {
			advice := "write one of " + strings.Join(k.Values, ", ")
			if near := spelling.Nearest(n.Value, k.Values); near != "" {
				advice = "did you mean " + quote(near) + "?"
			}
			r.wrongValue(n, path, "one of "+strings.Join(k.Values, ", "), advice)
		}
	case Duration:
		d, err := time.ParseDuration(n.Value)
		switch {
		case n.Kind != yaml.ScalarNode || err != nil:
			advice := "write a number and its unit, such as 10s or 500ms"
			if number, err := strconv.ParseFloat(n.Value, 64); n.Kind == yaml.ScalarNode && err == nil && number > 0 {
				advice = "write its unit after it, as " + n.Value + "s"
			}
			r.wrongValue(n, path, "a duration", advice)
		case d <= 0:
			r.wrongValue(n, path, "a duration above zero", "write one, such as 10s")
		}
	case Number:
		if i, err := strconv.Atoi(n.Value); n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || i < 1 {
			r.wrongValue(n, path, "a whole number from 1 on", "")
		}
	case Switch:
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Value != "true" && n.Value != "false" {
			r.wrongValue(n, path, "true or false", "")
		}
	default:
		r.checkText(n, k, path, "a string")
	}
}

// checkText checks a string, which may not be blank. Dates count as strings, because revisions look
// like dates. A log level must be one of k.Values.
func (r *reader) checkText(n *yaml.Node, k *Key, path, want string) {
	tag := n.ShortTag()
	switch {
	case n.Kind != yaml.ScalarNode && k.Example != "":
		r.wrongValue(n, path, want, "write it as in "+k.Name+": "+k.Example)
	case n.Kind != yaml.ScalarNode:
		r.wrongValue(n, path, want, "")
	case r.isEntry: // as written
	case tag == "!!null":
		r.wrongValue(n, path, want, "write it after the colon, or remove the key")
	case tag != "!!str" && tag != "!!timestamp":
		r.wrongValue(n, path, want, "put quotes around it: \""+n.Value+"\"")
	case strings.TrimSpace(n.Value) == "":
		r.complain(n, quote(path)+" is an empty text", "write something, or remove it")
	case strings.ContainsRune(n.Value, 0):
		r.complain(n, quote(path)+" contains a null character", "remove it")
	case k.Name == "levels" && !slices.Contains(k.Values, n.Value):
		r.wrongValue(n, path, "one of "+strings.Join(k.Values, ", "), "")
	}
}

var (
	errNoJSON = errors.New("JSON can't express")
	errTag    = errors.New("has an unsupported tag")
)

// scalarValue returns a scalar as a value that encoding/json can write: a string, nil, bool, int64
// or float64. Dates remain strings, as written.
func scalarValue(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return n.Value, nil
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		err := n.Decode(&b)
		return b, err
	case "!!int":
		var i int64
		if n.Decode(&i) == nil {
			return i, nil
		}
		fallthrough
	case "!!float":
		var f float64
		if err := n.Decode(&f); err != nil {
			return nil, errNoJSON
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, errNoJSON
		}
		return f, nil
	default:
		return nil, errTag
	}
}
