package stdio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// A StartError describes why a server could not be started, and what to do about it.
type StartError struct {
	Argv0  string // the program as it was given
	Reason string // what is wrong
	Advice string // what to do about it
}

// Error returns the program, the reason and the advice in one line.
func (e *StartError) Error() string {
	s := fmt.Sprintf("can't start the server %q: %s", e.Argv0, e.Reason)
	if e.Advice != "" {
		s += "; " + e.Advice
	}
	return s
}

// Locate returns the path of the program that c runs. It looks up a name without a slash in PATH,
// and resolves a relative path against the working directory of the server, as shells and Node.js
// do.
func Locate(c Command) (string, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return "", &StartError{Reason: "no command was given", Advice: "name the program to run, as in: node server.js"}
	}
	argv0 := c.Argv[0]
	if err := checkDir(c); err != nil {
		return "", err
	}
	if strings.ContainsAny(argv0, separators) {
		return locateFile(c)
	}
	dirs := filepath.SplitList(pathOf(c.Env))
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue // would depend on the working directory
		}
		if found, err := exec.LookPath(filepath.Join(dir, argv0)); err == nil {
			return found, nil
		}
	}
	return "", &StartError{Argv0: argv0, Reason: "command not found in " + describePlaces(dirs), Advice: notFoundAdvice(c)}
}

// separators are the characters that make a program name a path.
var separators = func() string {
	if runtime.GOOS == "windows" {
		return `/\:`
	}
	return "/"
}()

func checkDir(c Command) error {
	if c.Dir == "" {
		return nil
	}
	const advice = "give a directory that exists as the working directory"
	info, err := os.Stat(c.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &StartError{c.Argv[0], fmt.Sprintf("its working directory %q does not exist", c.Dir), advice}
	case err != nil:
		return &StartError{c.Argv[0], fmt.Sprintf("its working directory can't be used: %v", err), advice}
	case !info.IsDir():
		return &StartError{c.Argv[0], fmt.Sprintf("its working directory %q is a file", c.Dir), advice}
	}
	return nil
}

// locateFile checks a program that is given as a path, and returns its
// absolute path.
func locateFile(c Command) (string, error) {
	argv0 := c.Argv[0]
	path := inDir(c.Dir, argv0)
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return "", &StartError{argv0, "it is a directory", "name the program inside it"}
	case err == nil && isExecutable(path):
		return absolute(path)
	case err == nil:
		return "", &StartError{argv0, "the file is not executable", runAdvice(argv0)}
	case runtime.GOOS == "windows" && isExecutable(path): // found with an extension from PATHEXT
		return absolute(path)
	case !errors.Is(err, fs.ErrNotExist):
		return "", &StartError{argv0, fmt.Sprintf("it can't be reached: %v", err), "check the path and its permissions"}
	}
	advice := "check the path"
	if c.Dir != "" && !filepath.IsAbs(argv0) {
		if _, err := os.Stat(argv0); err == nil {
			advice = "the path is taken from the server's working directory; give the absolute path"
		}
	}
	if first, ok := splitAdvice(c); ok {
		advice = first
	}
	return "", &StartError{argv0, fmt.Sprintf("there is no file %q", path), advice}
}

// absolute makes path independent of the server's working directory.
func absolute(path string) (string, error) {
	found, err := exec.LookPath(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(found)
}

func inDir(dir, path string) string {
	if dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// isExecutable reports whether the system considers the file at path executable.
func isExecutable(path string) bool {
	abs, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	_, err = exec.LookPath(abs)
	return err == nil
}

// pathOf returns the PATH of env, or that of this program if env has none.
func pathOf(env []string) string {
	for i := len(env) - 1; i >= 0; i-- { // the last entry for a name is used
		name, value, _ := strings.Cut(env[i], "=")
		if name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH") {
			return value
		}
	}
	return os.Getenv("PATH")
}

// describePlaces describes briefly which folders of PATH were searched for the command.
func describePlaces(dirs []string) string {
	const most = 8
	switch {
	case len(dirs) == 0:
		return "PATH, which is empty"
	case len(dirs) > most:
		return fmt.Sprintf("PATH (%s and %d more)", strings.Join(dirs[:most], ", "), len(dirs)-most)
	}
	return fmt.Sprintf("PATH (%s)", strings.Join(dirs, ", "))
}

func notFoundAdvice(c Command) string {
	argv0 := c.Argv[0]
	local := inDir(c.Dir, argv0)
	info, err := os.Stat(local)
	switch {
	case err == nil && !info.IsDir() && isExecutable(local):
		return fmt.Sprintf("a program of that name is in the working directory: write .%c%s", filepath.Separator, argv0)
	case err == nil && !info.IsDir():
		return fmt.Sprintf("a file of that name is in the working directory, but is not executable: %s",
			runAdvice("."+string(filepath.Separator)+argv0))
	}
	if advice, ok := splitAdvice(c); ok {
		return advice
	}
	return "install it, or give its full path"
}

// splitAdvice reports whether the whole command line was given as one quoted argument, and returns
// advice in that case.
func splitAdvice(c Command) (string, bool) {
	if len(c.Argv) > 1 || !strings.Contains(strings.TrimSpace(c.Argv[0]), " ") {
		return "", false
	}
	return "program and arguments are one word; give them as separate words: " + strings.Join(strings.Fields(c.Argv[0]), " "), true
}

// interpreters maps file extensions to the programs that run such files.
var interpreters = map[string]string{
	".js": "node", ".mjs": "node", ".cjs": "node", ".ts": "npx tsx", ".py": "python", ".rb": "ruby",
	".sh": "sh", ".php": "php", ".jar": "java -jar", ".dll": "dotnet", ".go": "go run", ".pl": "perl", ".lua": "lua",
}

// runAdvice returns how to run a file that is not executable.
func runAdvice(path string) string {
	with, ok := interpreters[strings.ToLower(filepath.Ext(path))]
	name := strings.TrimPrefix(path, "."+string(filepath.Separator))
	switch {
	case ok:
		return fmt.Sprintf("name its interpreter: %s %s", with, name)
	case runtime.GOOS == "windows":
		return "name the program that runs it"
	}
	return fmt.Sprintf("make it executable (chmod +x %s), or name its interpreter", name)
}

// explain turns the error of a failed start into a StartError with advice.
func explain(c Command, path string, err error) error {
	e := &StartError{Argv0: c.Argv[0], Reason: err.Error(), Advice: "check that it runs from a shell"}
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		e.Reason = "the file is neither a program for this system nor a script with a #! line"
		e.Advice = runAdvice(c.Argv[0])
		if _, script := interpreters[strings.ToLower(filepath.Ext(path))]; !script {
			e.Advice = "name its interpreter, or build it for this system"
		}
	case errors.Is(err, fs.ErrNotExist):
		e.Reason = fmt.Sprintf("%q exists, but the interpreter in its #! line, or its loader, does not", path)
		e.Advice = "install that, or name the interpreter yourself"
	case errors.Is(err, fs.ErrPermission):
		e.Reason = fmt.Sprintf("the system does not permit running %q", path)
		e.Advice = "check its permissions, and that its file system is not mounted noexec"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.EAGAIN):
		e.Advice = "too many files or processes are in use; raise the limit (ulimit), or start fewer servers at once"
	}
	return e
}
