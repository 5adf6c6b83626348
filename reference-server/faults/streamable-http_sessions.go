package faults

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func sessionFaults() []Fault {
	const charset, unique, required = "streamable-http.session-id-charset/", "streamable-http.session-id-unique-secure/", "streamable-http.session-required-400/"
	const over, several = "streamable-http.session-terminated-404/", "streamable-http.multiple-clients/"
	named := func(name func(n int, id string) string) func() refserver.Seams {
		return func() refserver.Seams { return renamedSessions(name) }
	}
	nameless := func(v *visit) bool { return v.r.Header.Get(sessionHeader) == "" && !initializes(v) }
	// ended has requests with the id of an ended session answered otherwise.
	ended := func(do func(v *visit)) func() refserver.Seams {
		return func() refserver.Seams {
			var mu sync.Mutex
			gone := map[string]bool{}
			return visits(func(v *visit) bool {
				mu.Lock()
				defer mu.Unlock()
				id := v.r.Header.Get(sessionHeader)
				was := gone[id]
				gone[id] = was || deletes(v) && id != ""
				return was
			}, do)
		}
	}
	return []Fault{
		breaksAfresh(charset+"space", "session ids have a space", named(func(_ int, id string) string { return id[:10] + " " + id[10:] })),
		breaksAfresh(charset+"latin-1", "session ids have letters that are no ASCII", named(func(_ int, id string) string { return "s\xe9ance-" + id })),
		breaksAfresh(charset+"utf-8", "session ids have letters that are no ASCII, in UTF-8", named(func(_ int, id string) string { return "séance-" + id })),
		breaksAfresh(unique+"counter", "session ids are numbers that count up", named(func(n int, _ string) string { return strconv.Itoa(n) })),
		breaksAfresh(unique+"long-counter", "session ids are long, and differ in a number that counts up", named(func(n int, _ string) string { return "session-number-0000000000-" + strconv.Itoa(n) })),
		breaksAfresh(unique+"uuid-counter", "session ids are one UUID after the other", named(func(n int, _ string) string {
			return "0f8fad5b-d9cb-469f-a165-" + fmt.Sprintf("%012x", 0x0708677289f0+n)
		})),
		breaksAfresh(unique+"short", "session ids have four letters", named(func(_ int, id string) string { return id[:4] })),
		breaksAfresh(unique+"same", "all sessions have the same id", named(func(int, string) string { return "7d9f0a52-41d8-4b60-9e0c-5d2f8a1b6c34" })),
		breaksAfresh(unique+"again", "the id of a session that has ended is given to the next", recycledSessions),
		breaks(required+"404", "requests without a session id get 404", visits(nameless, says(http.StatusNotFound))),
		breaks(required+"500", "requests without a session id get 500", visits(nameless, says(http.StatusInternalServerError))),
		breaks(over+"served", "DELETE is granted, and the session goes on", visits(deletes, answers(http.StatusNoContent, "", ""))),
		breaksAfresh(over+"400", "requests with the id of an ended session get 400", ended(says(http.StatusBadRequest))),
		breaksAfresh(over+"accepted", "messages with the id of an ended session get 202", ended(answers(http.StatusAccepted, "", ""))),
		breaksAfresh("streamable-http.session-unknown-404/served", "a session id that was never given is served", func() refserver.Seams {
			m := &members{}
			return alters(anyVisit, func(v *visit, r *reply) {
				if id := v.r.Header.Get(sessionHeader); id != "" && !m.has(id) && m.latest() != "" {
					v.r.Header.Set(sessionHeader, m.latest())
				}
				m.joins(v, r)
			})
		}),
		breaks("streamable-http.session-delete/500", "DELETE gets 500", visits(deletes, says(http.StatusInternalServerError))),
		breaks("streamable-http.session-delete/404", "DELETE gets 404, though the session goes on", visits(deletes, says(http.StatusNotFound))),
		breaksAfresh("streamable-http.session-isolation/misdirected", "what one session is told another one hears, too", misdirected),
		breaks("streamable-http.initialize-without-session/400", "initialize needs a session id", visits(func(v *visit) bool {
			return initializes(v) && v.r.Header.Get(sessionHeader) == ""
		}, says(http.StatusBadRequest))).unreachable(),
		breaksAfresh(several+"refused", "a third client is refused while two are there", func() refserver.Seams {
			m := &members{}
			return alters(anyVisit, func(v *visit, r *reply) {
				m.joins(v, r)
				if initializes(v) && m.count() > 1 {
					v.next = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
				}
			})
		}),
		breaksAfresh(several+"mixed-up", "clients whose requests have the same id get the same answer", sameAnswers),
	}
}

func versionHeaderFaults() []Fault {
	const invalid = "streamable-http.version-header-invalid-400/"
	illegal := func(v *visit) bool {
		version := spec.Revision(v.r.Header.Get(versionHeader))
		return version != "" && !version.Published() && !initializes(v)
	}
	return []Fault{
		breaks("streamable-http.version-header-default/400", "requests without a version header get 400", visits(func(v *visit) bool {
			return v.r.Header.Get(versionHeader) == "" && !initializes(v)
		}, says(http.StatusBadRequest))),
		breaks(invalid+"served", "any version header is served", visits(illegal, func(v *visit) {
			v.r.Header.Del(versionHeader)
			v.serve()
		})),
		breaks(invalid+"406", "a version header that names no version gets 406", visits(illegal, says(http.StatusNotAcceptable))),
		breaks(invalid+"500", "a version header that names no version gets 500", visits(illegal, says(http.StatusInternalServerError))),
		breaks(invalid+"get", "a version header that names no version may listen", visits(func(v *visit) bool { return illegal(v) && v.r.Method == http.MethodGet }, func(v *visit) {
			v.r.Header.Del(versionHeader)
			v.serve()
		})),
	}
}

// closingFaults end the connection where a request with an error has to be refused.
func closingFaults() []Fault {
	endedOnes := func(do func(v *visit)) func() refserver.Seams {
		return func() refserver.Seams {
			var mu sync.Mutex
			gone := map[string]bool{}
			return visits(func(v *visit) bool {
				mu.Lock()
				defer mu.Unlock()
				id := v.r.Header.Get(sessionHeader)
				was := gone[id]
				gone[id] = was || deletes(v) && id != ""
				return was && !deletes(v)
			}, do)
		}
	}
	return []Fault{
		breaksAfresh("streamable-http.session-terminated-404/closes", "a request with the id of an ended session ends the connection without a response", endedOnes(closes)),
		breaks("streamable-http.version-header-invalid-400/closes", "a request with an unknown version header ends the connection without a response", visits(func(v *visit) bool {
			version := v.r.Header.Get(versionHeader)
			return version != "" && !spec.Revision(version).Published()
		}, closes)),
	}
}
