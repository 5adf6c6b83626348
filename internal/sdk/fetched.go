package sdk

import "path/filepath"

// FindInNpxCache returns the SDK of the server that npx has installed below the home folder. It
// returns nil if there is none or more than one, or if its version is not a release.
func FindInNpxCache(home string) *Used {
	var found []Used
	for i := range All() {
		s := &All()[i]
		if s.Package == "" {
			continue
		}
		// This program chose the path of home, without characters that are special in a pattern.
		// With such characters, Glob would find nothing.
		folders, _ := filepath.Glob(filepath.Join(home, ".npm", "_npx", "*", "node_modules"))
		for _, folder := range folders {
			if v := installedVersion(filepath.Dir(folder), s.Package); v != "" {
				found = append(found, Used{s, v})
			}
		}
	}
	if len(found) != 1 || versionOf(found[0].Version) == nil {
		return nil
	}
	return &found[0]
}
