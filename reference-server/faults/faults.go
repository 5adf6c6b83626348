// Package faults lists ways in which the reference server misbehaves on
// demand: faults that break a requirement, by which the harness shows that it
// would notice, and legal variations, by which it shows that it would not
// complain of what is odd but permitted.
//
// To add one, add a row to a function of its area, in a file whose name begins
// with the area; a new function goes into tables. A row holds an id, whose
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

// tables are the functions that return the rows of each area. They are in files
// whose names begin with the area.
var tables = map[string][]func() []Fault{
	"base": {
		messageFaults, idFaults, answerFaults, errorFaults, notificationFaults, malformedFaults, batchFaults, lineFaults, metaFaults, schemaFaults,
		orderFaults, raceFaults, concurrencyFaults, httpFaults,
		legalLines, legalMessages, legalOwn, legalPractice,
	},
	"lifecycle":    {lifecycleFaults, openingShapeFaults, lifecycleHTTPFaults, legalOpening},
	"versioning":   {versioningFaults, askingFaults},
	"ping":         {pingFaults},
	"progress":     {progressFaults, progressShapeFaults, serverTokenFaults, legalRunning},
	"cancellation": {cancellationFaults, cancellationShapeFaults, cancelRaceFaults, legalCancelling},
	"pagination":   {paginationFaults, walkFaults, cursorShapeFaults, legalLists, legalWalks},
	"tools":        {toolFaults, callFaults, failureFaults, knownFaults, branchFaults, toolShapeFaults, callShapeFaults, structuredFaults, legalOffers},
	"resources": {
		offeredFaults, readingFaults, templateFaults, subscriptionFaults, updateFaults, changedResourcesFaults, resourceShapeFaults, readShapeFaults, updatedShapeFaults,
		resourcesLegal, legalCrowds, legalNotices,
	},
	"prompts":     {promptFaults, rememberedPromptFaults, fileFaults, promptShapeFaults, promptGetShapeFaults, legalRememberedPrompts},
	"completion":  {completionFaults, completionShapeFaults, completedFaults},
	"logging":     {loggingFaults, secretFaults, logMessageFaults, legalSecrets},
	"content":     {contentFaults, annotationFaults, iconFaults, sampledBlockFaults, demandedContentFaults, legalShapes, legalPermitted},
	"sampling":    {samplingFaults, loopFaults, modelFaults, samplingShapeFaults, sampledContentFaults, legalAskedShapes, legalOrder},
	"elicitation": {elicitationFaults, userFaults, toldFaults, formFaults, elicitationShapeFaults, elicitationErrorFaults, legalAsking},
	"roots":       {rootsFaults, rootsShapeFaults, boundaryFaults, legalFiles},
	"tasks": {
		taskDeclarationFaults, taskToolFaults, taskCreationFaults, taskShownFaults, taskCourseFaults, taskClientFaults, taskLimitFaults,
		legalTasks, legalTaskLimits,
	},
	"stdio": {stdioFaults, legalProcess},
	"streamable-http": {
		originFaults, postFaults, streamFaults, listenFaults, resumeFaults, sessionFaults, closingFaults, versionHeaderFaults, crossingFaults, leakFaults, bodyFaults, spellingFaults,
		legalEitherHTTP, legalStreamable, legalStreams, legalCrossing, legalLeaks, legalSpellings, legalRefusals,
	},
	"sse": {legacyFaults, legacyCrossingFaults, legacyLeakFaults, legacyBodyFaults, legalLegacy},
}

// All returns every fault, areas together; callers must not alter them.
func All() []Fault { return all() }

var all = sync.OnceValue(func() []Fault {
	var out []Fault
	for _, area := range spec.Areas() {
		for _, table := range tables[area] {
			for _, f := range table() {
				f.Area = area
				if f.Transports == nil && area == string(spec.StreamableHTTP) {
					f = f.over(spec.StreamableHTTP)
				}
				if area == string(spec.SSE) {
					f = f.in(spec.V20241105).over(spec.SSE)
				}
				out = append(out, f)
			}
		}
	}
	return out
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
	return Fault{ID: id, Requirement: requirement, Title: title, Seams: seams}
}

// legal makes the row of a legal variation.
func legal(name, title string, seams refserver.Seams) Fault {
	return legalAfresh(name, title, func() refserver.Seams { return seams })
}

func legalAfresh(name, title string, seams func() refserver.Seams) Fault {
	return Fault{ID: "legal/" + name, Title: title, Legal: true, Seams: seams}
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

// overAll narrows several rows to some transports.
func overAll(transports []spec.Transport, rows []Fault) []Fault {
	for i := range rows {
		rows[i].Transports = transports
	}
	return rows
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
