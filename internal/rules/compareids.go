package rules

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// isZero reports whether the id is a common zero value for a missing id.
func isZero(id wire.ID) bool { return id.Raw() == "0" || id.Raw() == "-1" || id.Raw() == `""` }

// maxSafe is the largest integer that a double distinguishes from its neighbors.
const maxSafe = 1<<53 - 1

// beyondSafe reports whether the id is an integer that not every server can hold.
func beyondSafe(id wire.ID) bool {
	x, ok := number(id)
	return ok && id.IsInteger() && math.Abs(x) > maxSafe
}

// compareIDs reports how got was made from sent; unsolicited means that it was not.
func compareIDs(sent, got wire.ID) mismatch {
	if sameJSON(sent, got) {
		return respelled
	}
	x, isNumber := number(sent)
	y, gotNumber := number(got)
	if isNumber && gotNumber {
		switch {
		case beyondSafe(sent):
			if closeTo(x, y) {
				return rounded
			}
		case x == y:
			return respelled
		case !sent.IsInteger() && (y == math.Trunc(x) || y == math.Round(x) || y == math.Ceil(x)):
			return changedID
		}
		return unsolicited
	}
	a, b := unquotedID(sent), unquotedID(got)
	switch {
	case a == b, strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)):
		return changedID // another type or spelling
	case sent.Raw() == "true" && b == "1", sent.Raw() == "false" && b == "0":
		return changedID
	case len(b) >= 8 && strings.HasPrefix(a, b):
		return changedID // cut
	}
	if p, err := strconv.ParseFloat(a, 64); err == nil && gotNumber && (p == y || closeTo(p, y) && math.Abs(p) > maxSafe) {
		return changedID // a numeric string became a number
	}
	return unsolicited
}

// closeTo reports whether y is what doubles or 64-bit integers may make of the integer x, which
// they can't hold.
func closeTo(x, y float64) bool {
	const limit = 1 << 63
	return x == y || math.Abs(x-y) <= math.Abs(x)*1e-9 ||
		math.Abs(x) >= limit && (math.Abs(y) == limit || math.Abs(y) == maxSafe)
}

func number(id wire.ID) (float64, bool) {
	if id.Raw() == "" || id.Raw()[0] != '-' && (id.Raw()[0] < '0' || id.Raw()[0] > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(id.Raw(), 64)
	return f, err == nil
}

// unquotedID returns the text of an id without the quotes of a string.
func unquotedID(id wire.ID) string {
	if text, ok := wire.Text(jsontext.Value(id.Raw())); ok {
		return text
	}
	return id.Raw()
}

// sameJSON reports whether both ids are the same JSON value, apart from integers.
func sameJSON(a, b wire.ID) bool {
	x, y := jsontext.Value(a.Raw()).Clone(), jsontext.Value(b.Raw()).Clone()
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y) && !a.IsInteger()
}
