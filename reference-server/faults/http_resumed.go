package faults

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// strangeIDs handles by do the GETs with an event id that their session never
// had; of are the sessions that had it.
func strangeIDs(do func(v *visit, of []string)) refserver.Seams {
	var mu sync.Mutex
	known := map[string][]string{}
	return alters(anyVisit, func(v *visit, r *reply) {
		session := v.r.Header.Get(sessionHeader)
		if resumes(v) {
			mu.Lock()
			of := slices.Clone(known[v.r.Header.Get(eventHeader)])
			mu.Unlock()
			if !slices.Contains(of, session) {
				do(v, of)
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

// resumedAnywhere looks for the stream of an event in all sessions.
func resumedAnywhere() refserver.Seams {
	return strangeIDs(func(v *visit, of []string) {
		if len(of) > 0 {
			v.as(of[len(of)-1])
		}
	})
}

// strangeIDsListen takes an event id that the session never had for none.
func strangeIDsListen() refserver.Seams {
	return strangeIDs(func(v *visit, _ []string) { v.r.Header.Del(eventHeader) })
}
