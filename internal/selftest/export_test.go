package selftest

// Except applies exceptions to the rows of m.
func (m *Matrix) Except(all []Exception) { m.applyExceptions(all) }
