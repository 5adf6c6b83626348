// Package faults lists ways in which the reference server misbehaves on demand. A fault
// breaks a requirement, and the checks must report it. A legal variation is odd but
// permitted, and no check may report it.
//
// To add a fault, add a row to a function of its area, in a file whose name begins with the area;
// add a new function to tables. A row has an id, a title and the seams. The part of the id before
// the slash is the requirement that the fault breaks. The title says what the server does.
// Functions in the files build*.go make most of the seams; the comment on such a function says what
// its seams do. mcp-conform explain shows the first fault of a requirement that it can show, so the
// plainest fault comes first.
//
// The functions that most rows call are marked noinline. Otherwise each row would contain a
// copy of their code.
package faults

import (
	"slices"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// A Fault is a fault or a legal variation.
type Fault struct {
	ID string // the requirement or "legal", a slash, and a short name
	// Requirement is the id of the requirement that the fault breaks; empty for a
	// legal variation.
	Requirement string
	// Area is the area of the specification; for a fault the first word of its id.
	Area  string
	Title string // what the server does
	// Revisions limits the revisions; nil means all handshake revisions in which
	// the requirement exists, or 2026-07-28 if it exists only there.
	Revisions []spec.Revision
	// Transports limits the transports; nil means stdio, and in a full self-test
	// all transports.
	Transports []spec.Transport
	Legal      bool // a legal variation
	JSONOnly   bool // requires Options.JSONOnly
	// StatelessOnly makes the server serve 2026-07-28 alone.
	StatelessOnly bool
	// OwnServer gives each HTTP client a server of its own, as on stdio.
	OwnServer    bool
	NeedsProcess bool // requires a server in its own process
	// AllInterfaces makes the HTTP server listen on all network interfaces, not
	// only on loopback.
	AllInterfaces bool
	// Protected makes the HTTP server a protected resource, see Token.
	Protected bool
	// Issued makes the HTTP server a protected resource that trusts the authorization server that
	// the run starts.
	Issued bool
	// Upstream makes the server call a service, for which the run starts a test double.
	Upstream bool
	// Unreachable means that no conversation can be opened, so that a run must
	// report an error instead of findings.
	Unreachable bool
	Seams       func() refserver.Seams // returns seams with fresh state, for one server
}

// AppliesIn returns the revisions in which the fault may run, oldest first. The
// requirement need not exist in all of them.
func (f Fault) AppliesIn() []spec.Revision {
	q := spec.Requirements().Lookup(f.Requirement)
	switch {
	case f.Revisions != nil:
		return f.Revisions
	case q != nil && !q.InEra(spec.Handshake):
		return spec.StatelessRevisions()
	default:
		return spec.HandshakeRevisions()
	}
}

// tables maps each area to the functions that return its rows. These functions are in files whose
// names begin with the area.
var tables = map[string][]func() []*Fault{
	"base": {
		messageFaults, idFaults, responseFaults, errorFaults, notificationFaults, malformedFaults, batchFaults, lineFaults, metaFaults, schemaFaults,
		orderFaults, raceFaults, concurrencyFaults, singleMessageFaults, httpFaults, codeFaults,
		legalLines, legalMessages, legalServerMessages, legalPractice, legalSingleMessages,
	},
	"lifecycle":    {lifecycleFaults, initializeShapeFaults, lifecycleHTTPFaults, legalInitialization},
	"versioning":   {versioningFaults, serverRequestFaults, perRequestFaults, eraFaults, legalVersions},
	"ping":         {pingFaults},
	"progress":     {progressFaults, progressShapeFaults, serverTokenFaults, legalUtilities},
	"cancellation": {cancellationFaults, cancellationShapeFaults, cancelRaceFaults, legalCancellation},
	"pagination":   {paginationFaults, connectionFaults, walkFaults, cursorShapeFaults, legalLists, legalWalks},
	"tools":        {toolFaults, callFaults, failureFaults, officialToolFaults, optionalArgumentFaults, toolShapeFaults, callShapeFaults, structuredContentFaults, legalToolsAndPrompts},
	"resources": {
		resourceListFaults, resourceReadFaults, templateFaults, subscriptionFaults, updateFaults, changedResourcesFaults, resourceShapeFaults, readShapeFaults, updatedShapeFaults,
		legalResources, legalConcurrentReads, legalChangeNotifications,
	},
	"prompts":     {promptFaults, memoizedPromptFaults, fileFaults, promptShapeFaults, promptGetShapeFaults, legalMemoizedPrompts},
	"completion":  {completionFaults, completionShapeFaults, completionCountFaults},
	"logging":     {loggingFaults, requestLoggingFaults, secretFaults, logMessageFaults, legalSecrets, legalRequestLogging},
	"content":     {contentFaults, annotationFaults, iconFaults, samplingBlockFaults, optionalContentFaults, legalShapes, legalMiscellaneous},
	"sampling":    {samplingFaults, toolLoopFaults, samplingResponseFaults, samplingShapeFaults, samplingContentFaults, legalRequestShapes, legalOrder},
	"elicitation": {elicitationFaults, elicitationResponseFaults, completeRecipientFaults, formFaults, elicitationShapeFaults, elicitationErrorFaults, legalServerRequests},
	"roots":       {rootsFaults, rootsShapeFaults, rootBoundaryFaults, legalFiles},
	"tasks": {
		taskDeclarationFaults, taskToolFaults, taskCreationFaults, taskMemberFaults, taskStatusFaults, taskClientFaults, taskLimitFaults,
		foreignTaskFaults, legalTasks, legalTaskLimits,
	},
	"discover":      {discoverFaults, legalDiscovery},
	"stateless":     {metadataFaults, earlierRequestFaults, resultFaults, removedMethodFaults, legalStateless},
	"mrtr":          {multiRoundFaults, foreignStateFaults, legalMultiRound},
	"subscriptions": {listenFilterFaults, legalSubscriptions},
	"caching":       {cachingFaults, legalCaching},
	"stdio":         {stdioFaults, statelessStdioFaults, legalProcess},
	"streamable-http": {
		originFaults, postFaults, streamFaults, listenFaults, resumeFaults, sessionFaults, closingFaults, versionHeaderFaults, crossingFaults, leakFaults, bodyFaults, headerSpellingFaults,
		headerMismatchFaults, nameHeaderFaults, paramHeaderFaults, removedTransportFaults, statelessStreamFaults, legalHeaders,
		legalEitherHTTP, legalStreamable, legalStreams, legalCrossing, legalLeaks, legalHeaderHandling, legalRefusals,
	},
	"authorization": {refusalFaults, wrongTokenFaults, resourceMetadataFaults, serverMetadataFaults, protectedSessionFaults, issuedTokenFaults, upstreamFaults, legalProtection},
	"security":      {foreignSessionFaults, metadataURLFaults, legalUsers},
	"sse":           {sseFaults, sseCrossingFaults, sseLeakFaults, sseBodyFaults, sseProtectionFaults, legalSSE},
}

// All returns every fault and legal variation, ordered by area. Callers must not
// modify the slice.
func All() []Fault { return all() }

var all = sync.OnceValue(func() []Fault {
	var out []Fault
	for _, area := range spec.Areas() {
		for _, table := range tables[area] {
			for _, f := range table() {
				f.Area = area
				if f.Transports == nil && area == string(spec.StreamableHTTP) {
					f = f.overTransports(spec.StreamableHTTP)
				}
				if area == spec.AreaAuthorization {
					f = f.overTransports(spec.StreamableHTTP)
					f.Protected = !f.Issued
				}
				if area == string(spec.SSE) {
					f = f.inRevisions(spec.V20241105).overTransports(spec.SSE)
				}
				out = append(out, *f)
			}
		}
	}
	return out
})

// Lookup returns the fault with the given id, or false if there is no such fault.
func Lookup(id string) (Fault, bool) {
	i := slices.IndexFunc(all(), func(f Fault) bool { return f.ID == id })
	if i < 0 {
		return Fault{}, false
	}
	return all()[i], true
}

// newFault returns a fault without state.
//
//go:noinline
func newFault(id, title string, seams *refserver.Seams) *Fault {
	return newFaultWithState(id, title, func() *refserver.Seams { return seams })
}

// newFaultWithState returns a fault whose seams function creates fresh state for each
// server.
//
//go:noinline
func newFaultWithState(id, title string, seams func() *refserver.Seams) *Fault {
	requirement, _, _ := strings.Cut(id, "/")
	return &Fault{ID: id, Requirement: requirement, Title: title, Seams: func() refserver.Seams { return *seams() }}
}

// newVariation returns a legal variation without state.
//
//go:noinline
func newVariation(name, title string, seams *refserver.Seams) *Fault {
	return newVariationWithState(name, title, func() *refserver.Seams { return seams })
}

// newVariationWithState is like newFaultWithState, but returns a variation that the specification
// permits.
//
//go:noinline
func newVariationWithState(name, title string, seams func() *refserver.Seams) *Fault {
	return &Fault{ID: "legal/" + name, Title: title, Legal: true, Seams: func() refserver.Seams { return *seams() }}
}

// inRevisions limits the fault to the given revisions.
//
//go:noinline
func (f *Fault) inRevisions(revisions ...spec.Revision) *Fault {
	f.Revisions = revisions
	return f
}

// overTransports limits the fault to the given transports.
//
//go:noinline
func (f *Fault) overTransports(transports ...spec.Transport) *Fault {
	f.Transports = transports
	return f
}

// restrictTransports limits several faults to the given transports.
func restrictTransports(transports []spec.Transport, rows []*Fault) []*Fault {
	for i := range rows {
		rows[i].Transports = transports
	}
	return rows
}

// withOwnServer marks a fault that prevents a server from serving several clients.
func (f *Fault) withOwnServer() *Fault {
	f.OwnServer = true
	return f
}

// statelessOnly marks a fault that shows only if the server has no handshake revisions.
func (f *Fault) statelessOnly() *Fault {
	f.StatelessOnly = true
	return f
}

// unreachable marks a fault that prevents clients from opening a conversation.
func (f *Fault) unreachable() *Fault {
	f.Unreachable = true
	return f
}
