package refserver

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// listPage returns the result of a list request: the page that begins at the cursor, and nextCursor
// if more items follow. member is the name of the result's member that holds the items, and the
// function entry returns the JSON object for an item.
func listPage[T any](c *Call, member string, items []T, entry func(T) object) (any, *Error) {
	from := 0
	if raw, ok := c.fields()["cursor"]; ok {
		var err *Error
		if from, err = c.cursorPosition(raw); err != nil {
			return nil, err
		}
	}
	// The list may have become shorter since the server issued the cursor.
	from = min(from, len(items))
	to := min(c.Session.options.pageEnd(from), len(items))
	entries := []object{}
	for _, item := range items[from:to] {
		entries = append(entries, entry(item))
	}
	result := object{member: entries}
	if to < len(items) {
		result["nextCursor"] = c.newCursor(to)
	}
	return result, nil
}

// cursorPosition returns the position that a cursor encodes. It returns an error if the cursor is
// not one that newCursor made for the same method.
func (c *Call) cursorPosition(raw jsontext.Value) (int, *Error) {
	cursor, isText := wire.Text(raw)
	if !isText {
		return 0, invalidParams("cursor must be a string")
	}
	position, ok := c.parseCursor(cursor)
	if !ok {
		return 0, invalidParams("the cursor is not one that %s gave out", c.Method)
	}
	return position, nil
}

// newCursor returns a cursor for a position in the list. It contains the method, so
// that a cursor of one list is invalid for another.
func (c *Call) newCursor(position int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(c.Method + "@" + strconv.Itoa(position)))
}

func (c *Call) parseCursor(cursor string) (int, bool) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return 0, false
	}
	digits, sameList := strings.CutPrefix(string(text), c.Method+"@")
	position, err := strconv.Atoi(digits)
	return position, sameList && err == nil && position > 0 && digits == strconv.Itoa(position)
}
