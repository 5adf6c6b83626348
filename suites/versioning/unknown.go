package versioning

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// ancient is older than any revision, so that no server can take it for an unknown newer one.
const ancient = "1900-01-01"

// unknownVersions are requested one after the other, each from a fresh server, because a
// connection is initialized only once.
var unknownVersions = []string{ancient, "2999-01-01", "not-a-version"}

// requestUnknownVersions runs in full only in the newest revision that the server supports, because
// a request for an unknown version is the same in all revisions, and each one needs a fresh server.
func requestUnknownVersions(ctx context.Context, t *suite.T) {
	if last := newestRevision(t.KnownRevisions); last != "" && t.Revision != last {
		for _, id := range []string{otherVersion, latestVersion, unsupportedError} {
			t.MarkNotObserved(id, "judged once for all revisions, in "+string(last))
		}
		return
	}
	n := &negotiation{t: t, accepted: map[string]bool{}}
	for _, r := range t.KnownRevisions {
		n.accepted[string(r)] = true
	}
	for _, version := range unknownVersions {
		n.request(ctx, version)
	}
}

// negotiation is what is known about one server so far.
type negotiation struct {
	t *suite.T
	// accepted has, for each version whose outcome is known, whether the server responds to it with
	// the same version.
	accepted map[string]bool
	// refusedDate is set if a version that is a date was refused. The refusal of a string that is
	// not a date is then not reported, because it is less severe and has the same cause.
	refusedDate bool
}

func (n *negotiation) request(ctx context.Context, version string) {
	t := n.t
	c := t.Open(ctx, client.Options{Version: version})
	r := c.Initialize(ctx)
	switch {
	case r.Succeeded():
		t.MarkKept(errorsPrepared)
		n.judgeOffer(ctx, c, r, version)
	case r.Answered():
		t.MarkKept(errorsPrepared)
		n.judgeRefusal(c, r, version)
	case ctx.Err() != nil || r.Sent == nil:
		t.GiveUp("mcp-conform could not send initialize or wait for its response")
	default: // the server is known to answer initialize with a supported version
		for _, id := range []string{otherVersion, errorsPrepared} {
			t.Report(c, verdict.Deviation{
				Requirement: id,
				Summary:     "The server does not answer initialize with an unknown version.",
				Permitted:   "a result with a version that the server supports",
				Seen:        suite.Describe(r) + ", asked for " + version,
				At:          transcript.Positions(r.Sent),
			})
		}
	}
	c.CloseIdle()
}

// judgeOffer judges a result of initialize; asked is the version that the client requested. If the
// server offers another version, it must accept that version when a client requests it.
func (n *negotiation) judgeOffer(ctx context.Context, c *client.Conversation, r *client.Reply, asked string) {
	t := n.t
	offer, ok := wire.Text(wire.At(r.Message.Result(), "/protocolVersion"))
	if !ok {
		t.MarkNotObserved(otherVersion, "the result names no version, which lifecycle.initialize-response judges")
		return
	}
	if offer == asked {
		n.reportDeviation(c, r, otherVersion, "The server accepts a version that does not exist.", "another version, one that the server supports")
		return
	}
	c.CloseIdle()
	accepted, err := n.tryVersion(ctx, offer)
	if err != nil {
		t.MarkNotObserved(otherVersion, "mcp-conform could not request the version that the server offered: "+err.Error())
		return
	}
	if !accepted {
		n.reportDeviation(c, r, otherVersion, "The server offers a version that it then refuses.", "a version that the server supports")
		return
	}
	t.MarkKept(otherVersion)
	if asked == ancient {
		n.judgeLatest(ctx, c, r, offer)
	}
}

// tryVersion requests a version from a fresh server, unless that was done before, and reports
// whether the server accepts it. An error means that no response came.
func (n *negotiation) tryVersion(ctx context.Context, version string) (bool, error) {
	if known, ok := n.accepted[version]; ok {
		return known, nil
	}
	c := n.t.Open(ctx, client.Options{Version: version})
	defer c.CloseIdle()
	r := c.Initialize(ctx)
	if !r.Answered() {
		return false, r.Err
	}
	n.accepted[version] = r.Succeeded() && c.Server().ProtocolVersion == version
	return n.accepted[version], nil
}

// judgeLatest judges whether the offer is the newest version that a handshake can negotiate.
func (n *negotiation) judgeLatest(ctx context.Context, c *client.Conversation, r *client.Reply, offer string) {
	last, err := n.newestAccepted(ctx)
	handshake := slices.Contains(spec.HandshakeRevisions(), spec.Revision(offer))
	switch {
	case err != nil:
		n.t.MarkNotObserved(latestVersion, "mcp-conform could not request each newer version: "+err.Error())
	case last == "":
		n.t.MarkNotObserved(latestVersion, "mcp-conform does not know which revisions the server speaks")
	case offer == last:
		n.t.MarkKept(latestVersion)
	case !handshake && spec.Revision(offer).IsPublished():
		n.reportDeviation(c, r, latestVersion, "The server offers a revision that has no handshake.", "the newest version that the server supports with a handshake, "+last)
	case offer < last:
		n.reportDeviation(c, r, latestVersion, "The server answers an unknown version with one that is not its newest.", "the newest version that the server supports, "+last)
	default:
		n.t.MarkNotObserved(latestVersion, "the server supports versions that mcp-conform does not know")
	}
}

// newestAccepted returns the newest handshake revision that the server accepts, or "". It also
// requests those that the run does not judge.
func (n *negotiation) newestAccepted(ctx context.Context) (string, error) {
	for _, r := range spec.NewestFirst(spec.HandshakeRevisions()) {
		if accepted, err := n.tryVersion(ctx, string(r)); err != nil || accepted {
			return string(r), err
		}
	}
	return "", nil
}

// judgeRefusal judges an error. The specification requires the server to offer another version, but
// its example shows an error, so only that error passes.
//
// A string that is not a date can't be a version at all, so that a server may refuse it as an
// invalid param.
func (n *negotiation) judgeRefusal(c *client.Conversation, r *client.Reply, asked string) {
	_, notDate := time.Parse(time.DateOnly, asked)
	code, _ := r.Message.ErrorCode()
	switch {
	case isExampleError(r.Message):
	case notDate != nil && spec.Code(code) == spec.CodeInvalidParams:
		if n.refusedDate {
			return
		}
		n.t.Report(c, verdict.Deviation{
			Requirement: otherVersion,
			Summary:     "The server refuses a version that is not a date, and offers none.",
			Permitted:   "a result with a version that the server supports",
			Seen:        suite.Describe(r),
			At:          transcript.Positions(r.Sent, r.Event),
			Weight:      verdict.AtMostWarning,
		})
		return
	default:
		n.refusedDate = n.refusedDate || notDate == nil
		n.reportDeviation(c, r, otherVersion, "The server refuses an unknown version instead of offering another.", "a result with a version that the server supports, or an error -32602 with data.supported")
		return
	}
	n.t.MarkNotObserved(otherVersion, "the server refused with the error that the specification shows as an example")
	n.t.Report(c, verdict.Deviation{
		Requirement: unsupportedError,
		Summary:     "The server refuses an unknown version with the example error.",
		Permitted:   "a result with a version that the server supports; the page's example contradicts its text",
		Seen:        suite.Describe(r),
		At:          transcript.Positions(r.Sent, r.Event),
		Weight:      verdict.OnlyNote,
	})
}

// isExampleError reports whether m is an error -32602 whose data.supported lists versions.
func isExampleError(m *wire.Message) bool {
	code, ok := m.ErrorCode()
	return ok && spec.Code(code) == spec.CodeInvalidParams && len(m.SupportedVersions()) > 0
}

func (n *negotiation) reportDeviation(c *client.Conversation, r *client.Reply, requirement, summary, permitted string) {
	seen := suite.Describe(r)
	if version, ok := wire.Text(wire.At(r.Message.Result(), "/protocolVersion")); ok {
		seen = fmt.Sprintf("the version %q", wire.Excerpt(strings.ToValidUTF8(version, "\uFFFD"), 80))
		if asked, ok := wire.Text(r.Sent.Messages()[0].ParamAt("/protocolVersion")); ok {
			seen += fmt.Sprintf(", to a request of %q", wire.Excerpt(asked, 80))
		}
	}
	n.t.Report(c, verdict.Deviation{
		Requirement: requirement,
		Summary:     summary,
		Permitted:   permitted,
		Seen:        seen,
		At:          transcript.Positions(r.Sent, r.Event),
	})
}
