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

// Budget limits the time and the attempts of shrinking.
type Budget struct {
	Time  time.Duration
	Tries int
}

// shrinker makes a script smaller as long as it still shows the finding.
type shrinker struct {
	ctx   context.Context
	shows func(script.Script) bool // plays the script on a fresh server
	left  int                      // remaining attempts
	best  script.Script
	tried map[[sha256.Size]byte]bool // scripts that did not show the finding
}

// Shrink returns the smallest script found for which shows returns true, the
// number of attempts, and whether time ran out before all smaller scripts were
// tried. It first tries the operations in hint alone.
func Shrink(ctx context.Context, s script.Script, hint []int, b Budget, shows func(script.Script) bool) (small script.Script, tries int, cut bool) {
	ctx, cancel := context.WithTimeout(ctx, b.Time)
	defer cancel()
	k := &shrinker{ctx: ctx, shows: shows, left: b.Tries, best: s, tried: map[[sha256.Size]byte]bool{}}
	k.guess(hint)
	if len(k.best.Operations) > 12 {
		k.windows()
	}
	for before := -1; before != k.weight() && k.may(); {
		before = k.weight()
		k.round()
	}
	return k.best, b.Tries - k.left, ctx.Err() != nil && k.more()
}

// round tries each way to make the best script smaller once.
func (k *shrinker) round() {
	k.operations()
	k.conversations()
	k.removeSynchronisation()
	k.values()
}

// more reports whether an untried way to make the best script smaller remains.
// It plays no script. A script of one operation is minimal if all its variants
// were tried in time.
func (k *shrinker) more() bool {
	found := false
	rest := &shrinker{ctx: context.Background(), left: math.MaxInt, best: k.best, tried: map[[sha256.Size]byte]bool{}}
	rest.shows = func(s script.Script) bool {
		if !k.tried[spelled(s)] {
			found, rest.left = true, 0
		}
		return false
	}
	rest.round()
	return found
}

// spelled returns a hash that identifies a script by its text.
func spelled(s script.Script) [sha256.Size]byte { return sha256.Sum256(wire.JSON(s.Operations)) }

// weight measures the best script. Each step of shrinking decreases it.
func (k *shrinker) weight() int {
	n := 0
	for i := range k.best.Operations {
		o := &k.best.Operations[i]
		n += 1000 + len(o.Message) + 10*o.On + len(o.Splits) + 5*len(o.Take)
		if o.Await {
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

func (k *shrinker) may() bool { return k.left > 0 && k.ctx.Err() == nil }

// try makes the operations the best script if they show the finding.
func (k *shrinker) try(operations []script.Operation) bool {
	if !k.may() {
		return false
	}
	k.left--
	s := script.Script{Revision: k.best.Revision, Operations: operations}
	if shown := k.shows(s); k.ctx.Err() != nil {
		return false // the result of an interrupted attempt is unknown
	} else if !shown {
		k.tried[spelled(s)] = true
		return false
	}
	k.best = s
	return true
}

// guess tries only the operations that the evidence shows, then adds those that
// change the state of a conversation, then all earlier ones.
func (k *shrinker) guess(hint []int) {
	if len(hint) == 0 {
		return
	}
	all := k.best.Operations
	last := hint[len(hint)-1]
	if crowd := together(all, last); len(crowd) < len(all) && len(crowd) > len(hint) && k.try(crowd) {
		return
	}
	if len(hint) < len(all) {
		var kept []script.Operation
		for _, i := range hint {
			kept = append(kept, all[i])
		}
		if k.try(kept) || k.try(atOnce(kept)) || k.try(slices.Concat(walksBefore(kept), kept)) {
			return
		}
	}
	for _, keep := range []func(i int, o *script.Operation) bool{
		func(i int, o *script.Operation) bool {
			return slices.Contains(hint, i) || i < last && o.On == all[last].On && o.Violates == "" && lasts(o)
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
		if len(kept) < len(all) && (k.try(kept) || k.try(atOnce(kept))) {
			return
		}
	}
}

// together returns the messages that are sent in the same write as the given
// operation.
func together(all []script.Operation, one int) []script.Operation {
	from, to := one, one
	for from > 0 && all[from-1].Do == script.Send && all[from-1].Together && !all[from-1].Await {
		from--
	}
	for to < len(all)-1 && all[to].Do == script.Send && all[to].Together && !all[to].Await {
		to++
	}
	return all[from : to+1]
}

// walksBefore returns walks through the lists that the operations refer to,
// because a rule may need to know those lists.
func walksBefore(operations []script.Operation) []script.Operation {
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

// lasts reports whether an operation changes the state of a conversation, or
// what is known about it.
func lasts(o *script.Operation) bool {
	return o.Do == script.Walk || o.Do == script.Answer || generate.ListMember(o.Method) != "" || slices.Contains([]string{
		spec.MethodSetLevel, spec.MethodResourcesSubscribe, spec.MethodResourcesUnsubscribe,
	}, o.Method)
}

// atOnce sends all messages in one write, because that shows races best.
func atOnce(operations []script.Operation) []script.Operation {
	out := slices.Clone(operations)
	for i := range out {
		if out[i].Do == script.Send {
			out[i].Together, out[i].Await = true, false
		}
	}
	return out
}

// windows tries short runs of operations, backwards from the end, each in one
// write. A race may need only operations that are close together.
func (k *shrinker) windows() {
	all := k.best.Operations
	for _, size := range []int{8, 20} {
		for from := len(all) - size; from > 0 && from > len(all)-4*size; from -= size {
			if k.try(atOnce(all[from : from+size])) {
				return
			}
		}
	}
}

// operations removes runs of operations, long runs first.
func (k *shrinker) operations() {
	for size := max(1, len(k.best.Operations)/2); ; size /= 2 {
		for from := len(k.best.Operations) - size; k.may() && from > -size; {
			all := k.best.Operations
			lo, hi := max(0, from), min(len(all), from+size)
			if hi > lo && hi-lo < len(all) {
				k.try(slices.Concat(all[:lo], all[hi:]))
			}
			from -= size
		}
		if size <= 1 {
			return
		}
	}
}

// conversations moves all operations to the first conversation. If that fails,
// it renumbers the conversations without gaps.
func (k *shrinker) conversations() {
	if k.best.Conversations() == 1 {
		return
	}
	one := slices.Clone(k.best.Operations)
	for i := range one {
		one[i].On = 0
	}
	if k.try(one) {
		return
	}
	renamed := map[int]int{} // old to new numbers
	for i := range one {
		on := k.best.Operations[i].On
		if _, ok := renamed[on]; !ok {
			renamed[on] = len(renamed)
		}
		one[i].On = renamed[on]
	}
	k.try(one)
}

// removeSynchronisation removes the synchronisation between operations.
func (k *shrinker) removeSynchronisation() {
	for i := 0; i < len(k.best.Operations) && k.may(); i++ {
		for _, change := range []func(o *script.Operation) bool{
			func(o *script.Operation) bool { was := o.Together; o.Together = false; return was },
			func(o *script.Operation) bool { was := o.Await; o.Await = false; return was },
			func(o *script.Operation) bool { was := len(o.Splits) > 0; o.Splits = nil; return was },
			func(o *script.Operation) bool { was := len(o.Take) > 0; o.Take = nil; return was },
		} {
			k.vary(i, change)
		}
	}
}

// vary tries the script with one operation changed. The change function reports
// whether it changed the operation.
func (k *shrinker) vary(i int, change func(o *script.Operation) bool) bool {
	o := k.best.Operations[i]
	if !change(&o) {
		return false
	}
	all := slices.Clone(k.best.Operations)
	all[i] = o
	return k.try(all)
}

// values makes the messages and bytes of the operations smaller.
func (k *shrinker) values() {
	for i := 0; i < len(k.best.Operations) && k.may(); i++ {
		o := &k.best.Operations[i]
		switch {
		case o.Violates != "" && o.Method != "":
			// The violation was proven for these params only.
		case o.Do == script.Repeat:
			// Each attempt would take long, and one request is small enough.
		case o.Do == script.Send && len(wire.Parse(o.Message).Messages) == 1 && o.Message[0] == '{':
			k.message(i)
		case o.Exchange != nil:
			k.exchange(i)
		case len(o.Message) > 0:
			k.bytes(i)
		}
	}
}

func (k *shrinker) exchange(i int) {
	for n := len(k.best.Operations[i].Exchange.Headers) - 1; n >= 0 && k.may(); n-- {
		k.vary(i, func(o *script.Operation) bool {
			x := *o.Exchange
			x.Headers = slices.Delete(slices.Clone(x.Headers), n, n+1)
			o.Exchange = &x
			return true
		})
	}
}

// bytes removes runs of bytes, long runs first.
func (k *shrinker) bytes(i int) {
	for size := len(k.best.Operations[i].Message) / 2; size > 0 && k.may(); size /= 2 {
		for from := 0; from < len(k.best.Operations[i].Message) && k.may(); {
			shorter := k.vary(i, func(o *script.Operation) bool {
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
