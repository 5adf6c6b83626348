package faults

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"sync"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// strangeIDsListen takes an event id that the session never had for none.
func strangeIDsListen() refserver.Seams {
	var mu sync.Mutex
	known := map[string][]string{} // the sessions that had it, by the id
	return alters(anyVisit, func(v *visit, r *reply) {
		session := v.r.Header.Get(sessionHeader)
		if resumes(v) {
			mu.Lock()
			of := slices.Clone(known[v.r.Header.Get(eventHeader)])
			mu.Unlock()
			if !slices.Contains(of, session) {
				v.r.Header.Del(eventHeader)
				return
			}
		}
		r.edit = func(b []byte) []byte {
			mu.Lock()
			defer mu.Unlock()
			for line := range bytes.Lines(b) {
				if id, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "id: "); ok && r.streams() {
					known[id] = append(known[id], session)
				}
			}
			return b
		}
	})
}

// resumedAnywhere keeps the events of all sessions in one place: an id names the
// session, too, and nobody looks whether that is the one that asks.
func resumedAnywhere() refserver.Seams {
	var mu sync.Mutex
	var sessions []string
	return alters(anyVisit, func(v *visit, r *reply) {
		session := v.r.Header.Get(sessionHeader)
		number, id, ok := strings.Cut(v.r.Header.Get(eventHeader), "/")
		mu.Lock()
		if at, err := strconv.Atoi(number); resumes(v) && ok && err == nil && at < len(sessions) {
			session = sessions[at]
			v.r.Header.Set(eventHeader, id)
			v.as(session)
		}
		at := slices.Index(sessions, session)
		if at < 0 {
			at = len(sessions)
			sessions = append(sessions, session)
		}
		mu.Unlock()
		r.edit = func(b []byte) []byte {
			if !r.streams() {
				return b
			}
			return bytes.ReplaceAll(b, []byte("id: "), []byte("id: "+strconv.Itoa(at)+"/"))
		}
	})
}
