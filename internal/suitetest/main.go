package suitetest

import (
	"flag"
	"testing"
)

// atOnce is how many parallel tests run at once: most of their time is waiting for
// servers, and little of it work.
const atOnce = "6"

// Main is the TestMain of packages whose tests wait for servers.
func Main(m *testing.M) {
	WaitInParallel()
	m.Run()
}

// WaitInParallel has more tests run at once than there are cores, unless the flag
// -parallel says how many. It goes before testing.M.Run. The flag must not count as
// given: Ginkgo refuses it.
func WaitInParallel() {
	if f := flag.Lookup("test.parallel"); f != nil {
		_ = f.Value.Set(atOnce)
	}
}
