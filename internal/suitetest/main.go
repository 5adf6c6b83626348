package suitetest

import (
	"flag"
	"testing"
)

// parallelTests is the number of tests that run in parallel. They mostly wait for
// servers.
const parallelTests = "6"

// Main is the TestMain of packages whose tests wait for servers.
func Main(m *testing.M) {
	RaiseParallelism()
	m.Run()
}

// RaiseParallelism lets parallelTests tests run in parallel, however many cores there are, unless
// the flag -parallel is given. Call it before testing.M.Run. It does not mark the flag as given,
// because Ginkgo rejects -parallel.
func RaiseParallelism() {
	if f := flag.Lookup("test.parallel"); f != nil {
		_ = f.Value.Set(parallelTests)
	}
}
