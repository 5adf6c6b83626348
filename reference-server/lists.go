package refserver

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// page answers a list request: the entries of the items from the cursor on, as
// many as belong on a page, and a cursor for the rest where there is one.
func page[T any](c *Call, member string, items []T, entry func(T) object) (any, *Error) {
	from := 0
	if raw, ok := c.fields()["cursor"]; ok {
		var err *Error
		if from, err = c.position(raw); err != nil {
			return nil, err
		}
	}
	// The list may have become shorter since the cursor was given out.
	from = min(from, len(items))
	to := min(c.Session.o.pageEnd(from), len(items))
	entries := []object{}
	for _, item := range items[from:to] {
		entries = append(entries, entry(item))
	}
	result := object{member: entries}
	if to < len(items) {
		result["nextCursor"] = c.cursor(to)
	}
	return result, nil
}

// position returns what a cursor of the request hides.
func (c *Call) position(raw jsontext.Value) (int, *Error) {
	cursor, isText := wire.Text(raw)
	if !isText {
		return 0, invalidParams("cursor must be a string")
	}
	at, ok := c.readCursor(cursor)
	if !ok {
		return 0, invalidParams("the cursor is not one that %s gave out", c.Method)
	}
	return at, nil
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
