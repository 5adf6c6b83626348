package serverfeatures

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// knownTools folds a conversation about tools. It returns the names that are known in the end, and
// whether the list is complete.
func knownTools(t *testing.T, lines ...string) string {
	t.Helper()
	script := []string{
		"revision: 2025-11-25", "transport: stdio", "",
		`> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`,
		`> {"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}
	found, err := transcript.ReadRecordings("script.txt", strings.NewReader(strings.Join(append(script, lines...), "\n")+"\n"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d conversations: %v", len(found), err)
	}
	var c *catalog
	rule := rules.Rule{ID: "test", Start: rules.WithoutState(rules.Fold{Shared: readsCatalog, AtEnd: func(s *rules.Session, _ *rules.Reporter) { c = catalogs.Of(s) }})}
	rules.Judge([]rules.Rule{rule}, found[0].Events, spec.V20251125, spec.Stdio)
	return fmt.Sprintf("%s whole=%v", strings.Join(slices.Sorted(maps.Keys(c.tools.seen)), ","), c.tools.isKnown())
}

func listRequestLine(id int, cursor string) string {
	params := ""
	if cursor != "" {
		params = `,"params":{"cursor":` + cursor + `}`
	}
	return fmt.Sprintf(`> {"jsonrpc":"2.0","id":%d,"method":"tools/list"%s}`, id, params)
}

func listResultLine(id int, next string, names ...string) string {
	var items []string
	for _, n := range names {
		items = append(items, fmt.Sprintf(`{"name":%q,"annotations":{"readOnlyHint":%v}}`, n, !strings.HasPrefix(n, "write")))
	}
	if next != "" {
		next = `,"nextCursor":` + next
	}
	return fmt.Sprintf(`< {"jsonrpc":"2.0","id":%d,"result":{"tools":[%s]%s}}`, id, strings.Join(items, ","), next)
}

func TestCatalog(t *testing.T) {
	const changed = `< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	calls := func(id int, name, result string) []string {
		return []string{
			fmt.Sprintf(`> {"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, id, name),
			fmt.Sprintf(`< {"jsonrpc":"2.0","id":%d,%s}`, id, result),
		}
	}
	const served, failing, refused = `"result":{"content":[]}`, `"result":{"content":[],"isError":true}`, `"error":{"code":-32603,"message":"no"}`
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"nothing", nil, " whole=false"},
		{"one page", []string{listRequestLine(1, ""), listResultLine(1, "", "a", "b")}, "a,b whole=true"},
		{"two pages", []string{listRequestLine(1, ""), listResultLine(1, `"2"`, "a"), listRequestLine(2, `"2"`), listResultLine(2, "", "b")}, "a,b whole=true"},
		{"half of two pages", []string{listRequestLine(1, ""), listResultLine(1, `"2"`, "a")}, "a whole=false"},
		{"another page than the next", []string{listRequestLine(1, ""), listResultLine(1, `"2"`, "a"), listRequestLine(2, `"3"`), listResultLine(2, "", "b")}, "a,b whole=false"},
		{"an empty cursor", []string{listRequestLine(1, ""), listResultLine(1, `""`, "a"), listRequestLine(2, `""`), listResultLine(2, "", "b")}, "a,b whole=true"},
		{"a circle", []string{listRequestLine(1, ""), listResultLine(1, `"2"`, "a"), listRequestLine(2, `"2"`), listResultLine(2, `"2"`, "b"), listRequestLine(3, `"2"`), listResultLine(3, "", "c")}, "a,b,c whole=false"},
		{"a cursor that is a number", []string{listRequestLine(1, ""), listResultLine(1, `2`, "a"), listRequestLine(2, `2`), listResultLine(2, "", "b")}, "a,b whole=false"},
		{"walked again", []string{listRequestLine(1, ""), listResultLine(1, "", "a", "b"), listRequestLine(2, ""), listResultLine(2, "", "b")}, "b whole=true"},
		{"a change", []string{listRequestLine(1, ""), listResultLine(1, "", "a"), changed}, " whole=false"},
		{"a change between pages", []string{listRequestLine(1, ""), listResultLine(1, `"2"`, "a"), changed, listRequestLine(2, `"2"`), listResultLine(2, "", "b")}, "b whole=false"},
		{"a change before the answer", []string{listRequestLine(1, ""), changed, listResultLine(1, "", "a")}, "a whole=false"},
		{"a change, then walked again", []string{listRequestLine(1, ""), listResultLine(1, "", "a"), changed, listRequestLine(2, ""), listResultLine(2, "", "c")}, "c whole=true"},
		{"a tool that reads", append([]string{listRequestLine(1, ""), listResultLine(1, "", "a")}, calls(2, "a", served)...), "a whole=true"},
		{"a tool that writes", append([]string{listRequestLine(1, ""), listResultLine(1, "", "a", "write")}, calls(2, "write", served)...), "a,write whole=false"},
		{"a tool that fails to write", append([]string{listRequestLine(1, ""), listResultLine(1, "", "write")}, calls(2, "write", failing)...), "write whole=true"},
		{"an unknown tool", append([]string{listRequestLine(1, ""), listResultLine(1, "", "a")}, calls(2, "b", refused)...), "a whole=true"},
		{"an id used twice", []string{listRequestLine(0, ""), listResultLine(0, "", "a")}, " whole=false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, knownTools(t, c.lines...)); diff != "" {
				t.Errorf("known is (-want +got):\n%s", diff)
			}
		})
	}
}
