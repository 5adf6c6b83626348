package stdio

import "time"

// Servers of the tests that stay do so for ever, the others leave at once.
func init() { leastExit = time.Second }
