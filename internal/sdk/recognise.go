package sdk

import (
	"debug/buildinfo"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Limits, in bytes, on how much of a file is read.
const (
	maxManifest = 1 << 20
	maxScript   = 256 << 10
)

// ownModule is the module of this program.
const ownModule = "github.com/mcp-conform/mcp-conform"

// Recognise returns the SDK of the server that argv starts in dir. It returns nil if it
// finds none or more than one, or if the version is not a release. It reads the modules in
// a Go binary, or the package.json next to a Node script.
func Recognise(argv []string, dir string) *Used {
	if len(argv) == 0 {
		return nil
	}
	program, err := exec.LookPath(resolvePath(dir, argv[0]))
	if err != nil {
		return nil
	}
	var found []Used
	if info, err := buildinfo.ReadFile(program); err == nil {
		found = sdksOfModules(info)
	} else if script := scriptOf(program, argv[1:], dir); script != "" {
		found = sdksOfScript(script)
	}
	if len(found) != 1 || versionOf(found[0].Version) == nil {
		return nil
	}
	return &found[0]
}

// sdksOfModules returns the SDKs among the modules of a Go program.
func sdksOfModules(info *buildinfo.BuildInfo) []Used {
	if info.Main.Path == ownModule { // the reference server of mcp-conform uses no SDK
		return nil
	}
	var found []Used
	for _, module := range info.Deps {
		if module.Replace != nil {
			continue
		}
		for i := range All() {
			if s := &All()[i]; s.Module != "" && s.Module == module.Path {
				found = append(found, Used{s, strings.TrimPrefix(module.Version, "v")})
			}
		}
	}
	return found
}

// resolvePath resolves a relative path against dir. A bare name is unchanged, so that it is
// looked up in PATH.
func resolvePath(dir, path string) string {
	if filepath.IsAbs(path) || !strings.ContainsAny(path, `/\`) {
		return path
	}
	return filepath.Join(dir, path)
}

// runtimes are programs whose argument is the script to run.
var runtimes = []string{"node", "nodejs", "bun", "deno", "tsx", "ts-node"}

// extensions are the file extensions of scripts.
var extensions = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"}

// scriptOf returns the path of the script, with symbolic links resolved: the program itself or, if
// the program is one of runtimes, its first argument that is a script. It returns "" if there is
// none.
func scriptOf(program string, args []string, dir string) string {
	paths := []string{program}
	if name := strings.TrimSuffix(filepath.Base(program), ".exe"); slices.Contains(runtimes, name) {
		paths = args
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		path, err := filepath.EvalSymlinks(path)
		if err == nil && slices.Contains(extensions, filepath.Ext(path)) {
			return path
		}
	}
	return ""
}

// sdksOfScript returns the SDKs among the dependencies of the script's package, with their
// installed versions. If there are several, it returns only those whose package name the first
// maxScript bytes of the script contain, followed by a quotation mark or a slash.
func sdksOfScript(script string) []Used {
	var found []Used
	for folder := filepath.Dir(script); ; folder = filepath.Dir(folder) {
		var manifest struct {
			Name                           string
			Dependencies, PeerDependencies map[string]string
		}
		if readJSON(filepath.Join(folder, "package.json"), &manifest) && (manifest.Name != "" || manifest.Dependencies != nil) {
			for i := range All() {
				s := &All()[i]
				_, depends := manifest.Dependencies[s.Package]
				if _, peer := manifest.PeerDependencies[s.Package]; !depends && !peer {
					continue
				}
				if v := installedVersion(folder, s.Package); v != "" {
					found = append(found, Used{s, v})
				}
			}
			break
		}
		if folder == filepath.Dir(folder) {
			break
		}
	}
	if len(found) > 1 {
		text := readHead(script, maxScript)
		found = slices.DeleteFunc(found, func(u Used) bool {
			return !regexp.MustCompile(regexp.QuoteMeta(u.SDK.Package) + "[\"'`/]").MatchString(text)
		})
	}
	return found
}

// installedVersion returns the version of the package that Node would load in a folder, "" if there
// is none.
func installedVersion(folder, name string) string {
	for ; ; folder = filepath.Dir(folder) {
		var manifest struct{ Name, Version string }
		if readJSON(filepath.Join(folder, "node_modules", filepath.FromSlash(name), "package.json"), &manifest) && manifest.Name == name {
			return manifest.Version
		}
		if folder == filepath.Dir(folder) {
			return ""
		}
	}
}

func readJSON(path string, to any) bool {
	text := readHead(path, maxManifest)
	return text != "" && json.Unmarshal([]byte(text), to) == nil
}

// readHead returns at most limit bytes from the beginning of a regular file, or "" if it can't be
// read.
func readHead(path string, limit int64) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return ""
	}
	return string(text)
}
