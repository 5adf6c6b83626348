package faults

func awaitedFaults() []Fault { return nil }
