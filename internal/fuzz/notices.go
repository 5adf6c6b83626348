package fuzz

import (
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// ToldLate tells whether a server breaks the requirement by its silence after a
// change, which counts only where it had the time to tell (verdict.NoticeTime).
func ToldLate(requirement string) bool {
	return requirement == "resources.subscribe.update-sent" || strings.Contains(requirement, ".list-changed.sent-on-change-")
}

// notice gives the server the time to tell of changes, where that is wanted.
func (r *holder) notice(t *talk) {
	if r.Notices {
		t.until(r.ctx, verdict.NoticeTime, func() bool { return false })
	}
}
