package cli

// turning are servers that begin well.
func turning() []badHTTP { return nil }
