// Package suites lists all suites.
package suites

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/suites/authorization"
	"github.com/mcp-conform/mcp-conform/suites/base"
	"github.com/mcp-conform/mcp-conform/suites/caching"
	"github.com/mcp-conform/mcp-conform/suites/cancellation"
	"github.com/mcp-conform/mcp-conform/suites/completion"
	"github.com/mcp-conform/mcp-conform/suites/discover"
	"github.com/mcp-conform/mcp-conform/suites/elicitation"
	"github.com/mcp-conform/mcp-conform/suites/lifecycle"
	"github.com/mcp-conform/mcp-conform/suites/logging"
	"github.com/mcp-conform/mcp-conform/suites/mrtr"
	"github.com/mcp-conform/mcp-conform/suites/pagination"
	"github.com/mcp-conform/mcp-conform/suites/ping"
	"github.com/mcp-conform/mcp-conform/suites/progress"
	"github.com/mcp-conform/mcp-conform/suites/prompts"
	"github.com/mcp-conform/mcp-conform/suites/resources"
	"github.com/mcp-conform/mcp-conform/suites/roots"
	"github.com/mcp-conform/mcp-conform/suites/sampling"
	"github.com/mcp-conform/mcp-conform/suites/security"
	"github.com/mcp-conform/mcp-conform/suites/sse"
	"github.com/mcp-conform/mcp-conform/suites/stateless"
	"github.com/mcp-conform/mcp-conform/suites/stdio"
	streamablehttp "github.com/mcp-conform/mcp-conform/suites/streamable-http"
	"github.com/mcp-conform/mcp-conform/suites/subscriptions"
	"github.com/mcp-conform/mcp-conform/suites/tasks"
	"github.com/mcp-conform/mcp-conform/suites/tools"
	"github.com/mcp-conform/mcp-conform/suites/versioning"
)

// Cases returns all cases, area by area.
func Cases() []suite.Case {
	all := slices.Concat(
		lifecycle.Cases(),
		versioning.Cases(),
		stateless.Cases(),
		discover.Cases(),
		base.Cases(),
		ping.Cases(),
		progress.Cases(),
		logging.Cases(),
		cancellation.Cases(),
		stdio.Cases(),
		streamablehttp.Cases(),
		sse.Cases(),
		authorization.Cases(),
		security.Cases(),
		resources.Cases(),
		pagination.Cases(),
		tools.Cases(),
		prompts.Cases(),
		completion.Cases(),
		sampling.Cases(),
		elicitation.Cases(),
		roots.Cases(),
		tasks.Cases(),
		mrtr.Cases(),
		subscriptions.Cases(),
		caching.Cases(),
	)
	for i := range all {
		all[i].Rounds = rounds()[all[i].ID]
	}
	return all
}
