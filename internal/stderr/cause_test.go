package stderr

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCauseIsFoundInStderr(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"Node", `node:internal/modules/cjs/loader:1228
  throw err;
  ^

Error: Cannot find module '/app/dist/index.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1225:15)
    at Module._load (node:internal/modules/cjs/loader:1051:27) {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.18.1
`, []string{"Error: Cannot find module '/app/dist/index.js'"}},
		{"Node, a type of error", "/app/x.js:3\n  throw new TypeError('no')\n  ^\n\nTypeError [ERR_INVALID_ARG]: no key\n    at x (/app/x.js:3:9)\n", []string{"TypeError [ERR_INVALID_ARG]: no key"}},
		{"Python", `Traceback (most recent call last):
  File "server.py", line 3, in <module>
    import mcp
ModuleNotFoundError: No module named 'mcp'
`, []string{"ModuleNotFoundError: No module named 'mcp'"}},
		{"Python, one error after another", "Traceback (most recent call last):\nKeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\nRuntimeError: no token\n", []string{"RuntimeError: no token"}},
		{"Go", "panic: open config.yaml: no such file or directory\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:8 +0x1d\nexit status 2\n", []string{"panic: open config.yaml: no such file or directory"}},
		{"Rust", "thread 'main' panicked at src/main.rs:4:5:\nTOKEN is not set\nnote: run with `RUST_BACKTRACE=1`\n", []string{"thread 'main' panicked at src/main.rs:4:5:", "TOKEN is not set"}},
		{"Java", "Exception in thread \"main\" java.lang.RuntimeException: x\n\tat Main.main(Main.java:3)\nCaused by: java.net.BindException: Address already in use\n\tat Main.bind(Main.java:9)\n", []string{"Caused by: java.net.BindException: Address already in use"}},
		{"npm", "npm error code E404\nnpm error 404 Not Found - GET https://registry.npmjs.org/nope\n", []string{"npm error code E404", "npm error 404 Not Found - GET https://registry.npmjs.org/nope"}},
		{"a shell", "starting\nsh: 1: tsc: not found\n", []string{"sh: 1: tsc: not found"}},
		{"nothing", "because\n", nil},
		{"empty", "", nil},
	} {
		if diff := cmp.Diff(c.want, Cause(c.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
