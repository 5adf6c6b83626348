package streamablehttp

import (
	"slices"
	"strconv"

	"github.com/mcp-conform/mcp-conform/internal/control"
	"github.com/mcp-conform/mcp-conform/internal/rules"
)

// isAccepted reports whether the server did what the request asks for: a status of
// success can come with an error, too.
func (x *exchange) isAccepted() bool { return x.Succeeded() && x.errorIn() == nil }

// isInterpretable reports whether the refusal of x may be interpreted: the same
// request without the flaw was served just before and just after, as far as
// there was one. Otherwise the requirements are not observed, with the reason.
func (v *view) isInterpretable(x *exchange, out *rules.Reporter, requirements ...string) bool {
	why := v.whyUnclear(x)
	for _, r := range requirements {
		if why != "" {
			out.Unclear(r, why)
		}
	}
	return why == ""
}

// whyUnclear returns why the refusal of x shows nothing about its flaw, "" where
// it does.
func (v *view) whyUnclear(x *exchange) string {
	odd := control.Status("status " + strconv.Itoa(x.Status()))
	if v.mayBeSecond(x) {
		return "it was refused (" + odd.Words + ") while the session had another stream"
	}
	controls := v.controlsFor(x)
	if len(controls) == 0 {
		return control.Control{What: "the same request in order"}.Unclear(odd, false)
	}
	for _, y := range controls {
		c := control.Control{What: "the same request in order", Sent: true, Served: y.isAccepted(), Got: control.Status("status " + strconv.Itoa(y.Status()))}
		if why := c.Unclear(odd, false); why != "" {
			return why
		}
	}
	return ""
}

// mayBeSecond reports whether x may be refused as the second stream of its
// session. With 409 it may be though the first was closed, for the server may
// not know of that yet. Which session a GET without an id means is not known.
func (v *view) mayBeSecond(x *exchange) bool {
	return x.Method() == "GET" && slices.ContainsFunc(v.all, func(y *exchange) bool {
		return y != x && y.Method() == "GET" && y.isStreamOpened() && y.Request.Seq < x.Request.Seq &&
			(y.session == x.session || x.session == "") && (x.Status() == 409 || y.open(x.Request.Seq))
	})
}

// controlsFor returns the last exchange before x, and the first after it, that
// differs from it only by having no flaw.
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
