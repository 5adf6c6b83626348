package fuzz

import (
	"context"
	"crypto/sha256"
	"math"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Budget limits the time and the attempts of shrinking, and what it may change.
type Budget struct {
	Time     time.Duration
	Attempts int
	// KeepValues makes the shrunk script send no other strings, numbers, methods and malformed bytes
	// than the script did, so that it shows the finding as it was reported. Operations and members
	// may still be removed.
	KeepValues bool
}

// shrinker makes a script smaller, in steps after which the script still shows the finding.
type shrinker struct {
	ctx       context.Context
	reproduce func(script.Script) bool // plays the script on a fresh server
	attempts  int                      // remaining attempts
	keep      bool                     // see Budget.KeepValues
	smallest  script.Script
	failed    map[[sha256.Size]byte]bool // scripts that did not show the finding
}

// Shrink returns the smallest script it found for which reproduce returns true, the number of
// attempts, and whether time ran out before every smaller script was tried. It first tries only the
// operations whose indexes are in hint.
func Shrink(ctx context.Context, s script.Script, hint []int, b Budget, reproduce func(script.Script) bool) (smallest script.Script, attempts int, cut bool) {
	ctx, cancel := context.WithTimeout(ctx, b.Time)
	defer cancel()
	k := &shrinker{ctx: ctx, reproduce: reproduce, attempts: b.Attempts, keep: b.KeepValues, smallest: s, failed: map[[sha256.Size]byte]bool{}}
	k.tryEvidence(hint)
	if len(k.smallest.Operations) > 12 {
		k.tryWindows()
	}
	for before := -1; before != k.size() && k.canTry(); {
		before = k.size()
		k.shrinkOnce()
	}
	return k.smallest, b.Attempts - k.attempts, ctx.Err() != nil && k.canShrink()
}

// shrinkOnce tries once each way to make the smallest script smaller.
func (k *shrinker) shrinkOnce() {
	k.removeOperations()
	k.mergeConversations()
	k.simplifySynchronisation()
	k.shrinkMessages()
}

// canShrink reports whether an untried way to make the smallest script smaller is left. It plays no
// script.
func (k *shrinker) canShrink() bool {
	found := false
	rest := &shrinker{ctx: context.Background(), attempts: math.MaxInt, keep: k.keep, smallest: k.smallest, failed: map[[sha256.Size]byte]bool{}}
	rest.reproduce = func(s script.Script) bool {
		if !k.failed[hashOf(s)] {
			found, rest.attempts = true, 0
		}
		return false
	}
	rest.shrinkOnce()
	return found
}

// hashOf returns a hash that identifies a script by its text.
func hashOf(s script.Script) [sha256.Size]byte { return sha256.Sum256(wire.JSON(s.Operations)) }

// size measures the smallest script. Each step of shrinking decreases the size.
func (k *shrinker) size() int {
	n := 0
	for i := range k.smallest.Operations {
		o := &k.smallest.Operations[i]
		n += 1000 + len(o.Message) + 10*o.On + len(o.Splits) + 5*len(o.Take)
		if isUnawaited(o) {
			n++
		}
		if o.Together {
			n += 2
		}
		if o.Exchange != nil {
			n += len(o.Exchange.Body) + 10*len(o.Exchange.Headers)
		}
	}
	return n
}

// canTry reports whether one more attempt is possible.
func (k *shrinker) canTry() bool { return k.attempts > 0 && k.ctx.Err() == nil }

// tryOperations plays the operations, and reports whether they show the finding. If so, they become
// the smallest script.
func (k *shrinker) tryOperations(operations []script.Operation) bool {
	if !k.canTry() {
		return false
	}
	k.attempts--
	s := script.Script{Revision: k.smallest.Revision, NoDiscover: k.smallest.NoDiscover, Operations: k.withoutOrphans(operations)}
	if shown := k.reproduce(s); k.ctx.Err() != nil {
		return false // the result of an interrupted attempt is unknown
	} else if !shown {
		k.failed[hashOf(s)] = true
		return false
	}
	k.smallest = s
	return true
}

// withoutOrphans returns the operations without cancellations of requests that the smallest script
// sends but the operations do not, because a client may cancel only what it has sent.
func (k *shrinker) withoutOrphans(operations []script.Operation) []script.Operation {
	type request struct {
		on int
		id string
	}
	sent := func(operations []script.Operation) map[request]bool {
		out := map[request]bool{}
		for i := range operations {
			for _, m := range wire.Parse(operations[i].Message).Messages {
				if m.Kind == wire.Request {
					out[request{operations[i].On, m.ID.Key()}] = true
				}
			}
		}
		return out
	}
	var before, now map[request]bool
	return slices.DeleteFunc(slices.Clone(operations), func(o script.Operation) bool {
		id, cancels := cancelledBy(&o)
		if !cancels {
			return false
		}
		if before == nil {
			before, now = sent(k.smallest.Operations), sent(operations)
		}
		r := request{o.On, id.Key()}
		return before[r] && !now[r]
	})
}

// cancelledBy returns the id of the request that an operation cancels, and whether it cancels one.
func cancelledBy(o *script.Operation) (id wire.ID, ok bool) {
	if o.Do == script.Cancel {
		return wire.RawID(string(o.Target)), true
	}
	if o.Do != script.Send || o.Method != spec.MethodCancelled {
		return wire.ID{}, false
	}
	read := wire.Parse(o.Message)
	if len(read.Messages) != 1 {
		return wire.ID{}, false
	}
	return read.Messages[0].ParamIDAt("/requestId"), true
}

// tryEvidence tries small parts of the script: first the operations in the same write as the last
// operation of the evidence, then the operations of the evidence alone, whose indexes are in hint.
// If neither part shows the finding, it adds to the evidence the operations that change the state
// of the conversation, and then more and more of the earlier ones.
func (k *shrinker) tryEvidence(hint []int) {
	if len(hint) == 0 {
		return
	}
	all := k.smallest.Operations
	last := hint[len(hint)-1]
	if write := operationsInWrite(all, last); len(write) < len(all) && len(write) > len(hint) && k.tryOperations(write) {
		return
	}
	if len(hint) < len(all) {
		var kept []script.Operation
		for _, i := range hint {
			kept = append(kept, all[i])
		}
		if k.tryOperations(kept) || k.tryOperations(inOneWrite(kept)) || k.tryOperations(slices.Concat(listWalks(kept), kept)) {
			return
		}
	}
	for _, keep := range []func(i int, o *script.Operation) bool{
		func(i int, o *script.Operation) bool {
			return slices.Contains(hint, i) || i < last && o.On == all[last].On && o.Violates == "" && changesState(o)
		},
		func(i int, _ *script.Operation) bool {
			return slices.Contains(hint, i) || i >= hint[0]-1 && i <= last
		},
		func(i int, _ *script.Operation) bool { return i <= last && i >= last-8 || slices.Contains(hint, i) },
		func(i int, _ *script.Operation) bool { return i <= last },
	} {
		var kept []script.Operation
		for i := range all {
			if keep(i, &all[i]) {
				kept = append(kept, all[i])
			}
		}
		if len(kept) < len(all) && (k.tryOperations(kept) || k.tryOperations(inOneWrite(kept))) {
			return
		}
	}
}

// operationsInWrite returns the operations that are sent in the same write as the operation with
// index i.
func operationsInWrite(all []script.Operation, i int) []script.Operation {
	from, to := i, i
	for from > 0 && all[from-1].Do == script.Send && all[from-1].Together && !all[from-1].Await {
		from--
	}
	for to < len(all)-1 && all[to].Do == script.Send && all[to].Together && !all[to].Await {
		to++
	}
	return all[from : to+1]
}

// listWalks returns operations that read all pages of the lists to which the given operations
// refer, because a rule may need to know those lists.
func listWalks(operations []script.Operation) []script.Operation {
	lists := map[string]string{
		spec.MethodToolsCall: spec.MethodToolsList, spec.MethodPromptsGet: spec.MethodPromptsList, spec.MethodResourcesRead: spec.MethodResourcesList,
		spec.MethodComplete: spec.MethodResourcesTemplates,
	}
	var out []script.Operation
	for i := range operations {
		list := lists[operations[i].Method]
		if list != "" && !slices.ContainsFunc(out, func(o script.Operation) bool { return o.Method == list }) {
			out = append(out, script.Operation{Do: script.Walk, On: operations[i].On, Method: list})
		}
	}
	return out
}

// changesState reports whether an operation changes the state of a conversation, or what the rules
// know about the server.
func changesState(o *script.Operation) bool {
	return o.Do == script.Walk || o.Do == script.Answer || generate.ListMember(o.Method) != "" || slices.Contains([]string{
		spec.MethodSetLevel, spec.MethodResourcesSubscribe, spec.MethodResourcesUnsubscribe,
	}, o.Method)
}

// inOneWrite returns the operations, changed so that all messages are sent in one write, which
// shows races best.
func inOneWrite(operations []script.Operation) []script.Operation {
	out := slices.Clone(operations)
	for i := range out {
		if out[i].Do == script.Send {
			out[i].Together, out[i].Await = true, false
		}
	}
	return out
}

// tryWindows tries short runs of operations, backwards from the end, each in one
// write. A race may need only operations that are close together.
func (k *shrinker) tryWindows() {
	all := k.smallest.Operations
	for _, size := range []int{8, 20} {
		for from := len(all) - size; from > 0 && from > len(all)-4*size; from -= size {
			if k.tryOperations(inOneWrite(all[from : from+size])) {
				return
			}
		}
	}
}

// removeOperations tries to remove runs of operations, long runs first.
func (k *shrinker) removeOperations() {
	for size := max(1, len(k.smallest.Operations)/2); ; size /= 2 {
		for from := len(k.smallest.Operations) - size; k.canTry() && from > -size; {
			all := k.smallest.Operations
			lo, hi := max(0, from), min(len(all), from+size)
			if hi > lo && hi-lo < len(all) {
				k.tryOperations(slices.Concat(all[:lo], all[hi:]))
			}
			from -= size
		}
		if size <= 1 {
			return
		}
	}
}

// mergeConversations tries to move all operations to the first conversation. If the finding then
// does not recur, it tries to renumber the conversations without gaps.
func (k *shrinker) mergeConversations() {
	if k.smallest.Conversations() == 1 {
		return
	}
	one := slices.Clone(k.smallest.Operations)
	for i := range one {
		one[i].On = 0
	}
	if k.tryOperations(one) {
		return
	}
	renamed := map[int]int{} // the new number for each old one
	for i := range one {
		on := k.smallest.Operations[i].On
		if _, ok := renamed[on]; !ok {
			renamed[on] = len(renamed)
		}
		one[i].On = renamed[on]
	}
	k.tryOperations(one)
}

// simplifySynchronisation tries to make the operations follow one another, each in one write,
// without values from earlier responses.
func (k *shrinker) simplifySynchronisation() {
	for i := 0; i < len(k.smallest.Operations) && k.canTry(); i++ {
		for _, change := range []func(o *script.Operation) bool{
			func(o *script.Operation) bool { was := o.Together; o.Together = false; return was },
			awaitResponse,
			func(o *script.Operation) bool { was := len(o.Splits) > 0; o.Splits = nil; return was },
			func(o *script.Operation) bool { was := len(o.Take) > 0; o.Take = nil; return was },
		} {
			k.tryChange(i, change)
		}
	}
}

// awaitResponse makes the player wait for the response to an operation, and reports whether it
// changed the operation. A script whose operations follow one another has the same effect each time
// it is played. If a script ended before the response, the player might cancel the request.
func awaitResponse(o *script.Operation) bool {
	if o.Together || !isUnawaited(o) {
		return false
	}
	o.Await = true
	return true
}

// isUnawaited reports whether the player could wait for a response to the operation, but does not.
func isUnawaited(o *script.Operation) bool {
	return o.Do == script.Send && !o.Await && !spec.IsNotification(o.Method)
}

// tryChange applies the function change to the operation with index i, and tries the resulting
// script. change reports whether it changed the operation; if not, tryChange returns false.
func (k *shrinker) tryChange(i int, change func(o *script.Operation) bool) bool {
	o := k.smallest.Operations[i]
	if !change(&o) {
		return false
	}
	all := slices.Clone(k.smallest.Operations)
	all[i] = o
	return k.tryOperations(all)
}

// shrinkMessages tries to make the messages and bytes of the operations smaller.
func (k *shrinker) shrinkMessages() {
	for i := 0; i < len(k.smallest.Operations) && k.canTry(); i++ {
		o := &k.smallest.Operations[i]
		switch {
		case o.Violates != "" && o.Method != "":
			// The violation was proven for these params only.
		case o.Do == script.Send && o.Method == spec.MethodCancelled:
			// Without the id in its params, the notification would cancel nothing.
		case o.Do == script.Repeat:
			// Each attempt would take long, and one request is small enough.
		case o.Do == script.Send && len(wire.Parse(o.Message).Messages) == 1 && o.Message[0] == '{':
			k.shrinkMessage(i)
		case o.Exchange != nil:
			k.removeHeaders(i)
		case len(o.Message) > 0 && !k.keep:
			k.removeBytes(i)
		}
	}
}

// removeHeaders tries to remove each header of an HTTP exchange.
func (k *shrinker) removeHeaders(i int) {
	for n := len(k.smallest.Operations[i].Exchange.Headers) - 1; n >= 0 && k.canTry(); n-- {
		k.tryChange(i, func(o *script.Operation) bool {
			x := *o.Exchange
			x.Headers = slices.Delete(slices.Clone(x.Headers), n, n+1)
			o.Exchange = &x
			return true
		})
	}
}

// removeBytes tries to remove runs of bytes from an operation's message, long runs first.
func (k *shrinker) removeBytes(i int) {
	for size := len(k.smallest.Operations[i].Message) / 2; size > 0 && k.canTry(); size /= 2 {
		for from := 0; from < len(k.smallest.Operations[i].Message) && k.canTry(); {
			shorter := k.tryChange(i, func(o *script.Operation) bool {
				hi := min(len(o.Message), from+size)
				o.Message = slices.Concat(o.Message[:from], o.Message[hi:])
				o.Splits = nil
				return len(o.Message) > 0
			})
			if !shorter {
				from += size
			}
		}
	}
}
