package stdio

import "time"

// The test servers either stay forever or exit at once, so a short limit suffices.
func init() { leastExit = time.Second }
