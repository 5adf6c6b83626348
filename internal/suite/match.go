package suite

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// matcher is a gomega matcher on replies that implements Explainer.
type matcher struct {
	permitted string
	match     func(*client.Reply) bool
}

// Match implements types.GomegaMatcher.
func (m *matcher) Match(actual any) (bool, error) {
	r, ok := actual.(*client.Reply)
	if !ok {
		return false, fmt.Errorf("this matcher takes a *client.Reply, not %T", actual)
	}
	return m.match(r), nil
}

// Permitted implements Explainer.
func (m *matcher) Permitted() string { return m.permitted }

// Seen implements Explainer.
func (m *matcher) Seen(actual any) string { return Describe(actual.(*client.Reply)) }

// FailureMessage implements types.GomegaMatcher.
func (m *matcher) FailureMessage(actual any) string {
	return "permitted: " + m.Permitted() + "\nseen: " + m.Seen(actual)
}

// NegatedFailureMessage implements types.GomegaMatcher.
func (m *matcher) NegatedFailureMessage(actual any) string {
	return "not permitted: " + m.Permitted() + "\nseen: " + m.Seen(actual)
}

// Satisfy returns a matcher that accepts the replies for which match returns true; permitted
// describes those replies for reports. Assertions call match only if there is a response.
func Satisfy(permitted string, match func(*client.Reply) bool) types.GomegaMatcher {
	return &matcher{permitted, match}
}

// BeResult accepts a successful response.
func BeResult() types.GomegaMatcher {
	return Satisfy("a result", (*client.Reply).Succeeded)
}

// BeAnyError accepts an error response, whatever its code.
func BeAnyError() types.GomegaMatcher {
	return Satisfy("an error response", func(r *client.Reply) bool { return r.Answered() && r.Message.IsError() })
}

// BeErrorFor accepts an error with one of the codes that revision rev specifies
// for the mistake.
func BeErrorFor(mistake spec.Mistake, rev spec.Revision) types.GomegaMatcher {
	codes := spec.CodesFor(mistake, rev)
	return Satisfy("an error with code "+listCodes(codes), func(r *client.Reply) bool {
		if !r.Answered() {
			return false
		}
		code, ok := r.Message.ErrorCode()
		return ok && spec.IsCodeFor(mistake, rev, spec.Code(code))
	})
}

func listCodes(codes []spec.Code) string {
	words := make([]string, 0, len(codes))
	for _, c := range codes {
		words = append(words, strconv.FormatInt(int64(c), 10))
	}
	return strings.Join(words, " or ")
}

// Describe describes a reply in a few words.
func Describe(r *client.Reply) string {
	switch {
	case !r.Answered():
		return "no answer" + describeCause(r.Err)
	case r.Message.IsError():
		return DescribeError(r.Message)
	case r.Message.Has("result"):
		return "the result " + wire.Excerpt(string(r.Message.Result()), 200)
	default:
		return wire.Excerpt(string(r.Message.Raw), 200)
	}
}

// DescribeError describes an error response in a few words.
func DescribeError(m *wire.Message) string {
	e, ok := m.Error()
	if !ok {
		return "an error that is not an object: " + wire.Excerpt(string(m.Member("error")), 200)
	}
	code := "without a code"
	if e.Code != nil {
		code = wire.Excerpt(string(e.Code), 40)
	}
	switch text, ok := wire.Text(e.Message); {
	case ok:
		return fmt.Sprintf("error %s %q", code, wire.Excerpt(text, 200))
	case e.Message == nil:
		return fmt.Sprintf("error %s without a message", code)
	default:
		return fmt.Sprintf("error %s with the message %s", code, wire.Excerpt(string(e.Message), 200))
	}
}
