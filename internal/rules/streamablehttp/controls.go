package streamablehttp

import (
	"slices"
	"strconv"

	"github.com/mcp-conform/mcp-conform/internal/control"
	"github.com/mcp-conform/mcp-conform/internal/rules"
)

// isAccepted reports whether the server did what was requested. A 2xx status can come with an
// error.
func (x *exchange) isAccepted() bool { return x.Succeeded() && x.errorIn() == nil }

// isInterpretable reports whether the refusal of x may be interpreted: the nearest equal requests
// without the flaw, before and after x, were served, and x cannot be refused as a second stream
// (see mayBeSecondStream). Otherwise it marks the requirements as unclear, with the reason.
func (v *view) isInterpretable(x *exchange, out *rules.Reporter, requirements ...string) bool {
	why := v.whyUnclear(x)
	for _, r := range requirements {
		if why != "" {
			out.MarkUnclear(r, why)
		}
	}
	return why == ""
}

// whyUnclear returns why the refusal of x shows nothing about its flaw, "" if it does show
// something.
func (v *view) whyUnclear(x *exchange) string {
	odd := control.StatusResponse("status " + strconv.Itoa(x.Status()))
	if v.mayBeSecondStream(x) {
		return "it was refused (" + odd.Description + ") while the session had another stream"
	}
	controls := v.controlsFor(x)
	if len(controls) == 0 {
		return control.Control{Name: "the same request without the flaw"}.WhyUnclear(odd, false)
	}
	for _, y := range controls {
		c := control.Control{Name: "the same request without the flaw", HasResponse: true, Served: y.isAccepted(), Response: control.StatusResponse("status " + strconv.Itoa(y.Status()))}
		if why := c.WhyUnclear(odd, false); why != "" {
			return why
		}
	}
	return ""
}

// mayBeSecondStream reports whether x may be refused as the second stream of its session. With 409
// that is possible even if the first stream was closed, because the server may not have noticed
// that yet. A GET without a session id may mean any session.
func (v *view) mayBeSecondStream(x *exchange) bool {
	return x.Method() == "GET" && slices.ContainsFunc(v.all, func(y *exchange) bool {
		return y != x && y.Method() == "GET" && y.isStreamOpened() && y.Request.Seq < x.Request.Seq &&
			(y.session == x.session || x.session == "") && (x.Status() == 409 || y.isOpenAt(x.Request.Seq))
	})
}

// controlsFor returns the exchanges that are like x but without a flaw: the last one before x and
// the first one after it, if there are any.
func (v *view) controlsFor(x *exchange) []*exchange {
	var before, after *exchange
	for _, y := range v.all {
		switch {
		case y.flaws != 0 || y.Response == nil || y.Method() != x.Method() || y.hasInitialize() != x.hasInitialize() || y.isResumption() != x.isResumption():
		case (len(y.requests) > 0) != (len(x.requests) > 0):
		case y.Request.Seq < x.Request.Seq:
			before = y
		case after == nil:
			after = y
		}
	}
	var out []*exchange
	for _, y := range []*exchange{before, after} {
		if y != nil {
			out = append(out, y)
		}
	}
	return out
}
