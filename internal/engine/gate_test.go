package engine

import (
	"testing"
	"testing/synctest"
)

// A pass that lasts for most of the run may last until others have had theirs,
// so who waits to be alone must not keep them out.
func TestWhoWantsToBeAloneKeepsNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2)
		probe := g.enter(false)
		probe.last()
		probe.rest()
		alone := make(chan *pass, 1)
		go func() { alone <- g.enter(true) }()
		synctest.Wait()
		other := g.enter(false) // synctest fails where this waits for ever
		other.rest()
		other.leave()
		select {
		case <-alone:
			t.Fatal("one is alone while another pass lasts")
		default:
		}
		probe.leave()
		last := <-alone
		last.rest()
		last.leave()
	})
}
