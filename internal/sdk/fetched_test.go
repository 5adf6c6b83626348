package sdk

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFetched checks that the SDK is recognised among the packages that npx has fetched.
func TestFetched(t *testing.T) {
	const one, two = "@modelcontextprotocol/sdk", "@modelcontextprotocol/server"
	manifest := func(name, version string) string { return `{"name":"` + name + `","version":"` + version + `"}` }
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"one":            {map[string]string{"ab12/node_modules/" + one: manifest(one, "1.25.0"), "ab12/node_modules/other": manifest("other", "1.0.0")}, "typescript-sdk 1.25.0"},
		"the other":      {map[string]string{"ab12/node_modules/" + two: manifest(two, "2.4.0")}, "typescript-sdk-2 2.4.0"},
		"none":           {map[string]string{"ab12/node_modules/other": manifest("other", "1.0.0")}, ""},
		"nothing":        {nil, ""},
		"two":            {map[string]string{"ab12/node_modules/" + one: manifest(one, "1.25.0"), "ab12/node_modules/" + two: manifest(two, "2.4.0")}, ""},
		"two servers":    {map[string]string{"ab12/node_modules/" + one: manifest(one, "1.25.0"), "cd34/node_modules/" + one: manifest(one, "1.26.0")}, ""},
		"no release":     {map[string]string{"ab12/node_modules/" + one: manifest(one, "main")}, ""},
		"another's name": {map[string]string{"ab12/node_modules/" + one: manifest("fork", "1.25.0")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			for path, text := range c.files {
				folder := filepath.Join(home, ".npm", "_npx", filepath.FromSlash(path))
				if err := os.MkdirAll(folder, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(folder, "package.json"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := ""
			if used := FindInNpxCache(home); used != nil {
				got = used.String()
			}
			if got != c.want {
				t.Errorf("found %q, not %q", got, c.want)
			}
		})
	}
}
