package faults

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// awaitedFaults are those whose requirement nobody judges so far: they show
// what a judge has to find, and wait for it in the self-test.
func awaitedFaults() []Fault {
	const web = spec.StreamableHTTP
	return []Fault{
		breaks("logging.no-secrets/arguments", "the arguments of every call are logged, whatever they hold", logsArguments()).in(callable()...),
		breaks("logging.no-secrets/credentials", "the headers of every request are logged", visits(anyVisit, logsHeaders)).over(web),
		breaks("pagination.walk.complete/gap", "between two pages of a list an item is left out", pages(func(all []any) [][]any {
			return [][]any{all[:1], all[min(2, len(all)):]}
		}, plainCursor)),
		breaks("prompts.security.validate-inputs-and-outputs/path", "an argument of a prompt that is a path is replaced by the file", showsFiles()),
		breaks("resources.uri.https-only-if-directly-fetchable/nowhere", "resources have addresses on the web where nothing is", readdressed(
			"https://demo.invalid/hello", "https://demo.invalid/dot", "https://demo.invalid/unicode", "https://demo.invalid/object", "https://demo.invalid/note", "https://demo.invalid/roots")),
		breaks("roots.boundaries.respected/read", "files outside of the roots can be read", readsFiles(func(path string) bool { return filepath.Clean(path) == path })),
		breaks("roots.paths.validated/dots", "two dots in a path lead out of the roots", readsFiles(func(path string) bool { return filepath.Clean(path) != path })),

		breaksAfresh("elicitation.complete.only-to-initiator-2025-11-25/everybody", "all clients are told that a page was visited", func() refserver.Seams {
			return toAll(func(o *refserver.Out) bool {
				return o.Kind == refserver.OutNotification && o.Method == spec.MethodElicitDone
			})
		}).over(web),

		breaksAfresh("tasks.max-ttl/any", "tasks are kept for as long as the client wants", keepsForEver),
		breaks("tasks.no-sse-for-get/streamed", "tasks/get is answered by a stream", asStream(asking(spec.MethodTasksGet))).over(web),
		breaksAfresh("tasks.disconnect-tolerated/gone", "a task is gone when the connection breaks on which its result was waited for", goneWhenLeft).over(web),
		breaksAfresh("tasks.no-list-without-identity/everybody", "all clients see the tasks of all", listsAll).over(web),
	}
}

func logsArguments() refserver.Seams {
	return Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		c.Notify(spec.MethodMessage, map[string]any{"level": "emergency", "logger": "calls", "data": c.Params})
		return next(c)
	})
}

// logsHeaders puts what the client has sent into the stream of its answer.
func logsHeaders(v *visit) {
	r := &reply{ResponseWriter: v.w}
	told := false
	r.edit = func(b []byte) []byte {
		if told || !r.streams() {
			return b
		}
		told = true
		log := wire.NewNotification(spec.MethodMessage, map[string]any{"level": "emergency", "data": v.r.Header})
		return slices.Concat([]byte("data: "), log, []byte("\n\n"), b)
	}
	v.next.ServeHTTP(r, v.r)
	r.finish()
}

// passwd is what a file holds that no prompt should show.
const passwd = "root:x:0:0:root:/root:/bin/sh\n"

func showsFiles() refserver.Seams {
	return Handle(spec.MethodPromptsGet, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		_, p := wire.Members(c.Params)
		_, given := wire.Members(p["arguments"])
		for name, value := range given {
			if text, _ := wire.Text(value); strings.Contains(text, "/etc/passwd") {
				given[name] = wire.Quote(passwd)
			}
		}
		if given != nil {
			p["arguments"] = wire.JSON(given)
			c.Params = wire.JSON(p)
		}
		return next(c)
	})
}

// mostOfFile bounds what a fault reads of a file.
const mostOfFile = 4096

// readsFiles serves what lies in the folder of temporary files, and nowhere
// else, whatever the client says of its roots.
func readsFiles(when func(path string) bool) refserver.Seams {
	return Handle(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		uri, _ := wire.Text(wire.At(c.Params, "/uri"))
		path, isFile := strings.CutPrefix(uri, "file://")
		if !isFile || !when(path) || !strings.HasPrefix(filepath.Clean(path), filepath.Clean(os.TempDir())+string(filepath.Separator)) {
			return next(c)
		}
		text, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			return next(c)
		}
		return map[string]any{"contents": []any{map[string]any{"uri": uri, "text": strings.ToValidUTF8(string(text[:min(len(text), mostOfFile)]), "")}}}, nil
	})
}

// toAll sends messages to all sessions, not only to their own.
func toAll(when When) refserver.Seams {
	var mu sync.Mutex
	sessions := map[*refserver.Session]bool{}
	return Outgoing(Everything, func(o *refserver.Out) {
		mu.Lock()
		sessions[o.Session] = true
		all := slices.Collect(maps.Keys(sessions))
		mu.Unlock()
		if !when(o) {
			return
		}
		for _, s := range all {
			if s != o.Session && s.Context().Err() == nil {
				s.SendRaw(o.Frames[0])
			}
		}
	})
}

// taskIn returns the task that a result describes: its own members, or those
// of the member task.
func taskIn(result any) map[string]any {
	r := plain(result)
	if t, ok := r["task"].(map[string]any); ok {
		return t
	}
	return r
}

// keepsForEver says of tasks that they are kept as long as the client wants.
func keepsForEver() refserver.Seams {
	var mu sync.Mutex
	wanted := map[any]jsontext.Value{} // by task
	return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil || c.Method != spec.MethodToolsCall && c.Method != spec.MethodTasksGet {
			return result, err
		}
		r := plain(result)
		t, isNew := r["task"].(map[string]any)
		if !isNew {
			t = r
		}
		mu.Lock()
		defer mu.Unlock()
		if ttl := wire.At(c.Params, "/task/ttl"); isNew && ttl != nil {
			wanted[t["taskId"]] = ttl
		}
		if ttl := wanted[t["taskId"]]; ttl != nil {
			t["ttl"] = ttl
			return r, nil
		}
		return result, nil
	})
}

// asStream answers by a stream what else gets JSON.
func asStream(when func(v *visit) bool) refserver.Seams {
	return alters(when, func(_ *visit, r *reply) {
		was := false
		r.head = func(status int, h http.Header, _ []byte) int {
			if was = status == http.StatusOK && !r.streams(); was {
				h.Set("Content-Type", streamType)
				h.Del("Content-Length")
			}
			return status
		}
		r.edit = func(b []byte) []byte {
			if !was {
				return b
			}
			return slices.Concat([]byte("data: "), b, []byte("\n\n"))
		}
	})
}

// goneWhenLeft forgets tasks whose tasks/result lost its connection.
func goneWhenLeft() refserver.Seams {
	var mu sync.Mutex
	gone := map[string]bool{}
	about := func(params jsontext.Value) string { return string(wire.At(params, "/taskId")) }
	return together(visits(asking(spec.MethodTasksResult), func(v *visit) {
		v.serve()
		if v.r.Context().Err() != nil {
			mu.Lock()
			defer mu.Unlock()
			gone[about(v.frame.Messages[0].Params())] = true
		}
	}), Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		mu.Lock()
		lost := strings.HasPrefix(c.Method, "tasks/") && gone[about(c.Params)]
		mu.Unlock()
		if lost {
			return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "there is no task with this id"}
		}
		return next(c)
	}))
}

// listsAll adds to the tasks of a session those of all others.
func listsAll() refserver.Seams {
	type owned struct {
		by   *refserver.Session
		task map[string]any
	}
	var mu sync.Mutex
	var all []owned
	return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		switch c.Method {
		case spec.MethodToolsCall:
			if t := taskIn(result); t["taskId"] != nil {
				all = append(all, owned{c.Session, t})
			}
		case spec.MethodTasksList:
			r := plain(result)
			for _, t := range all {
				if t.by != c.Session {
					r["tasks"] = append(r["tasks"].([]any), t.task)
				}
			}
			return r, nil
		}
		return result, nil
	})
}
