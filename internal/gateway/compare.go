package gateway

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A difference is a place at which two JSON values differ.
type difference struct {
	path            string // such as tools/echo/annotations
	direct, through any    // the values without and through the gateway, each absent{} if missing
}

// absent represents a missing member or element.
type absent struct{}

// isAdded reports whether the gateway added the value.
func (d *difference) isAdded() bool { return d.direct == absent{} }

// String describes the difference.
func (d *difference) String() string {
	switch {
	case d.isAdded():
		return fmt.Sprintf("%s: added: %s", d.path, describeValue(d.through))
	case d.through == absent{}:
		return fmt.Sprintf("%s: missing: %s", d.path, describeValue(d.direct))
	case d.path == "":
		return fmt.Sprintf("%s (without the gateway: %s)", describeValue(d.through), describeValue(d.direct))
	default:
		return fmt.Sprintf("%s: %s (without the gateway: %s)", d.path, describeValue(d.through), describeValue(d.direct))
	}
}

// widestValue limits how much of a value is shown, in bytes.
const widestValue = 80

// describeValue returns a string as it is, and any other value as JSON. It shortens both, see
// widestValue.
func describeValue(v any) string {
	if s, ok := v.(string); ok {
		return wire.Excerpt(s, widestValue)
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return wire.Excerpt(string(encoded), widestValue)
}

// notOffered replaces a value that can't be obtained because the gateway does not offer the tool,
// prompt or capability for it. The probes of lists and capabilities report that.
type notOffered struct{}

// differences returns where two decoded JSON values at the path differ. Lists of different lengths
// count as one difference. A value that is not offered does not count.
func differences(path string, direct, through any) []difference {
	if _, ok := through.(notOffered); ok {
		return nil
	}
	switch a := direct.(type) {
	case map[string]any:
		if b, ok := through.(map[string]any); ok {
			return memberDifferences(path, a, b)
		}
	case []any:
		if b, ok := through.([]any); ok && len(a) == len(b) {
			var out []difference
			for i := range a {
				out = append(out, differences(fmt.Sprintf("%s/%d", path, i), a[i], b[i])...)
			}
			return out
		}
	}
	if reflect.DeepEqual(direct, through) {
		return nil
	}
	return []difference{{path, direct, through}}
}

// memberDifferences returns where two decoded JSON objects differ.
func memberDifferences(path string, direct, through map[string]any) []difference {
	names := map[string]bool{}
	for name := range direct {
		names[name] = true
	}
	for name := range through {
		names[name] = true
	}
	var out []difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := name
		if path != "" {
			at = path + "/" + name
		}
		a, hasA := direct[name]
		b, hasB := through[name]
		switch {
		case !hasB:
			out = append(out, difference{at, a, absent{}})
		case !hasA:
			out = append(out, difference{at, absent{}, b})
		default:
			out = append(out, differences(at, a, b)...)
		}
	}
	return out
}

// decode decodes raw JSON. It returns nil for invalid JSON.
func decode(raw []byte) any {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	return v
}
