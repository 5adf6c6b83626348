// Package faults lists ways in which the reference server misbehaves on
// demand: faults that break a requirement, by which the harness shows that it
// would notice, and legal variations, by which it shows that it would not
// complain of what is odd but permitted.
//
// To add one, add a row to the table of its area. A row holds an id, whose
// part before the slash is the requirement that it breaks, a sentence, and
// the seams, most often made by one of the functions in build.go.
package faults

import (
	"slices"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// Fault is one way to misbehave.
type Fault struct {
	ID string // words: the requirement or "legal", a slash, what happens
	// Requirement is the id of the catalogue entry it breaks; empty for a
	// legal variation.
	Requirement string
	// Area is what it is about: of a fault the first word of its id.
	Area  string
	Title string // a sentence: what the server does
	// Revisions are those in which it can be shown; nil means all handshake
	// revisions in which the requirement exists.
	Revisions []spec.Revision
	// Transports are those over which it is shown; nil means stdio, and the
	// others only where everything is tried.
	Transports []spec.Transport
	Legal      bool // odd, and permitted
	JSONOnly   bool // with the server's option of that name
	// Alone: over HTTP each client has a server of its own, as on stdio.
	Alone        bool
	NeedsProcess bool // can only be shown with a process of its own
	// Everywhere: over HTTP the server listens on all addresses of the
	// machine, and not only on that which leads to itself.
	Everywhere bool
	// Unreachable: no conversation can be opened, so that the harness has to
	// say why rather than find.
	Unreachable bool
	Seams       func() refserver.Seams // fresh state for each server
}

// All returns every fault, areas together; callers must not alter them.
func All() []Fault { return all() }

var all = sync.OnceValue(func() []Fault {
	return slices.Concat(
		messageFaults(), idFaults(), answerFaults(), errorFaults(), notificationFaults(), malformedFaults(), lineFaults(), about("base", legalLines()), batchFaults(), metaFaults(), schemaFaults(),
		lifecycleFaults(), askingFaults(), versioningFaults(), pingFaults(), stdioFaults(), toolFaults(), branchFaults(), staleFaults(), about("prompts", legalStale()), promptFaults(), completionFaults(), legalVariations(), about("tools", legalOffers()),
		resourcesFaults(), paginationFaults(), walkFaults(), about("resources", resourcesLegal()), about("pagination", legalWalks()),
		shapeFaults(), formFaults(), about("content", legalShapes()), about("sampling", legalAskedShapes()),
		samplingFaults(), loopFaults(), orderFaults(), about("sampling", legalOrder()), modelFaults(), elicitationFaults(), userFaults(), rootsFaults(), about("elicitation", legalAsking()),
		loggingFaults(), progressFaults(), cancellationFaults(), cancelRaceFaults(), about("progress", legalRunning()), about("cancellation", legalCancelling()),
		taskFaults(), about("tasks", legalTasks()),
		httpFaults(), aboutHTTP(legalHTTP()),
		about("base", legalPractice()), raceFaults(), concurrencyFaults(), about("resources", legalCrowds()), about("resources", legalNotices()), about("content", legalPermitted()),
		taskLimitFaults(), toldFaults(), secretFaults(), fileFaults(), boundaryFaults(),
		about("tasks", legalTaskLimits()), about("roots", legalFiles()), aboutHTTP(legalSecrets()),
	)
})

// Lookup returns the fault with the given id.
func Lookup(id string) (Fault, bool) {
	i := slices.IndexFunc(all(), func(f Fault) bool { return f.ID == id })
	if i < 0 {
		return Fault{}, false
	}
	return all()[i], true
}

// breaks makes the row of a fault without state.
func breaks(id, title string, seams refserver.Seams) Fault {
	return breaksAfresh(id, title, func() refserver.Seams { return seams })
}

// breaksAfresh makes the row of a fault whose state begins anew in each server.
func breaksAfresh(id, title string, seams func() refserver.Seams) Fault {
	requirement, _, _ := strings.Cut(id, "/")
	area, _, _ := strings.Cut(id, ".")
	return Fault{ID: id, Requirement: requirement, Area: area, Title: title, Seams: seams}
}

// legal makes the row of a legal variation.
func legal(name, title string, seams refserver.Seams) Fault {
	return legalAfresh(name, title, func() refserver.Seams { return seams })
}

func legalAfresh(name, title string, seams func() refserver.Seams) Fault {
	return Fault{ID: "legal/" + name, Title: title, Legal: true, Seams: seams}
}

// about says which area legal variations are about.
func about(area string, rows []Fault) []Fault {
	for i := range rows {
		rows[i].Area = area
	}
	return rows
}

// aboutHTTP does so for those over HTTP, by where they are shown.
func aboutHTTP(rows []Fault) []Fault {
	for i := range rows {
		rows[i].Area = string(rows[i].Transports[0])
	}
	return rows
}

// in narrows a row to some revisions.
func (f Fault) in(revisions ...spec.Revision) Fault {
	f.Revisions = revisions
	return f
}

// over narrows a row to some transports.
func (f Fault) over(transports ...spec.Transport) Fault {
	f.Transports = transports
	return f
}

// alone marks a row with which a server can't serve several clients.
func (f Fault) alone() Fault {
	f.Alone = true
	return f
}

// unreachable marks a row with which no conversation can be opened.
func (f Fault) unreachable() Fault {
	f.Unreachable = true
	return f
}
