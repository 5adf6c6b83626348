package faults

import "slices"

// Shapes returns the faults of shape and the legal variations in shape.
func Shapes() []Fault {
	return slices.Concat(shapeFaults(), legalShapes(), legalAskedShapes())
}
