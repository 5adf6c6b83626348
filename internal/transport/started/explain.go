package started

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
)

// outputShown is how many bytes of a server's output an error includes.
const outputShown = 2 << 10

func shownOutput(s *stdio.Service) string {
	text := s.Output()
	return text[max(0, len(text)-outputShown):]
}

// occupiedError returns the error for an address at which another process listens.
func occupiedError(ctx context.Context, u *url.URL) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	who := "another process"
	if all := listenersAt(u, nil); len(all) > 0 {
		who = all[0].describe()
	}
	return &Error{
		Reason: fmt.Sprintf("the server was not started: %s listens at %s already", who, address(u)),
		Advice: "end that process, or use another port; with {port} in the URL and in the command a free one is picked:\n" +
			"  --start 'my-server --port {port}' http://localhost:{port}/mcp\n" +
			"to judge the server that runs there, leave --start out",
	}
}

// ownListeners returns the service's processes that listen at u, or nil if they are not known. It
// returns an error if only processes that do not belong to the service listen there.
func ownListeners(service *stdio.Service, u *url.URL) ([]int, error) {
	members := service.Members()
	if len(members) == 0 {
		return nil, nil
	}
	var pids []int
	for _, l := range listenersAt(u, members) {
		pids = append(pids, l.pids...)
	}
	if len(pids) > 0 {
		service.Track(pids...)
		return pids, nil
	}
	all := listenersAt(u, nil)
	if len(all) == 0 || slices.ContainsFunc(all, func(l listener) bool { return len(l.pids) == 0 }) {
		return nil, nil // a listener that we can't inspect may be the service's, because no other process listened there before
	}
	return nil, &Error{
		Reason: fmt.Sprintf("%s listens at %s, and --start did not start it", all[0].describe(), address(u)),
		Advice: "end that process, or use another port; a server that the command hands over to another program (a daemon, the engine of a container)\n" +
			"can't be followed: start it yourself then, and leave --start out",
		Output: shownOutput(service), taken: true,
	}
}

// exitedEarlyError returns the error for a service that exited before it listened.
func exitedEarlyError(ctx context.Context, service *stdio.Service, u *url.URL) error {
	detail, code := service.Ending()
	e := &Error{
		Reason: fmt.Sprintf("the server ended before it listened at %s: %s", address(u), detail),
		Advice: "run the command by hand: it has to listen there and keep running",
		Output: shownOutput(service), taken: acceptsConnection(ctx, address(u)),
	}
	if code == 0 {
		e.Advice = "the command must not exit before the server does: start it in the foreground, not as a daemon or with &"
	}
	return e
}

// unreadyError returns the error for a service that does not listen at u in time; it
// names the addresses at which the service listens.
func unreadyError(service *stdio.Service, u *url.URL, waited time.Duration) error {
	e := &Error{
		Reason: fmt.Sprintf("the server did not listen at %s within %v", address(u), waited),
		Advice: "check the port; a server that starts slowly needs more time, like --ready 2m",
		Output: shownOutput(service),
	}
	var others []string
	for _, l := range listeners(service.Members()) {
		if at := l.at.String(); !slices.Contains(others, at) {
			others = append(others, at)
		}
	}
	if len(others) > 0 {
		e.Reason += "; it listens at " + strings.Join(others, ", ")
		e.Advice = "give the URL with that host and port, or tell the server the port of the URL"
	}
	return e
}

func (l listener) describe() string {
	if len(l.pids) == 0 {
		return "a process of another user"
	}
	text := fmt.Sprintf("process %d", l.pids[0])
	if l.command != "" {
		text += fmt.Sprintf(" (%s)", l.command)
	}
	return text
}
