package rules

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// isZero reports whether the id is a zero value that servers commonly send in place of a missing
// id.
func isZero(id wire.ID) bool { return id.Raw() == "0" || id.Raw() == "-1" || id.Raw() == `""` }

// maxSafe is the largest integer that a double distinguishes from its neighbors.
const maxSafe = 1<<53 - 1

// isUnsafeInteger reports whether the id is an integer beyond 2^53-1, which not every server can
// represent exactly.
func isUnsafeInteger(id wire.ID) bool {
	x, ok := parseNumber(id)
	return ok && id.IsInteger() && math.Abs(x) > maxSafe
}

// compareIDs classifies the difference between the id of a request and that of a response. It
// returns unsolicited if no known mistake of servers explains the difference.
func compareIDs(sent, got wire.ID) mismatch {
	if isSameJSON(sent, got) {
		return respelled
	}
	x, isNumber := parseNumber(sent)
	y, gotNumber := parseNumber(got)
	if isNumber && gotNumber {
		switch {
		case isUnsafeInteger(sent):
			if isCloseTo(x, y) {
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
		return changedID // truncated
	}
	if p, err := strconv.ParseFloat(a, 64); err == nil && gotNumber && (p == y || isCloseTo(p, y) && math.Abs(p) > maxSafe) {
		return changedID // a numeric string became a number
	}
	return unsolicited
}

// isCloseTo reports whether a server may have turned the integer x into y because it stores ids as
// doubles or as 64-bit integers, which cannot represent x.
func isCloseTo(x, y float64) bool {
	const limit = 1 << 63
	return x == y || math.Abs(x-y) <= math.Abs(x)*1e-9 ||
		math.Abs(x) >= limit && (math.Abs(y) == limit || math.Abs(y) == maxSafe)
}

func parseNumber(id wire.ID) (float64, bool) {
	if id.Raw() == "" || id.Raw()[0] != '-' && (id.Raw()[0] < '0' || id.Raw()[0] > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(id.Raw(), 64)
	return f, err == nil
}

// unquotedID returns the value of a string id, and the JSON of any other id.
func unquotedID(id wire.ID) string {
	if text, ok := wire.Text(jsontext.Value(id.Raw())); ok {
		return text
	}
	return id.Raw()
}

// isSameJSON reports whether both ids are the same JSON value, possibly written in different ways.
// It returns false if a is an integer, because compareIDs compares integers as numbers.
func isSameJSON(a, b wire.ID) bool {
	x, y := jsontext.Value(a.Raw()).Clone(), jsontext.Value(b.Raw()).Clone()
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y) && !a.IsInteger()
}
