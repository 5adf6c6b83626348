package refserver

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// page answers a list request: the items from the cursor on, as many as fit
// on a page, and a cursor for the rest where there is one.
func (c *Call) page(member string, items []object) (any, *Error) {
	from := 0
	if raw, ok := c.fields()["cursor"]; ok {
		cursor, isText := wire.Text(raw)
		if !isText {
			return nil, invalidParams("cursor must be a string")
		}
		if from, ok = c.readCursor(cursor); !ok {
			return nil, invalidParams("the cursor is not one that %s gave out", c.Method)
		}
	}
	// The list may have become shorter since the cursor was given out.
	from = min(from, len(items))
	to := min(from+c.Session.o.PageSize, len(items))
	result := object{member: items[from:to]}
	if to < len(items) {
		result["nextCursor"] = c.cursor(to)
	}
	return result, nil
}

// cursor hides a position in the list of the call's method. It names the
// method, so that a cursor of one list is none of another.
func (c *Call) cursor(at int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(c.Method + "@" + strconv.Itoa(at)))
}

func (c *Call) readCursor(cursor string) (int, bool) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return 0, false
	}
	digits, ours := strings.CutPrefix(string(text), c.Method+"@")
	at, err := strconv.Atoi(digits)
	return at, ours && err == nil && at > 0 && digits == strconv.Itoa(at)
}
