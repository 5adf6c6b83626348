package faults

import "slices"

// Shapes returns the faults and legal variations in the shape of messages.
func Shapes() []*Fault {
	return slices.Concat(
		contentFaults(), annotationFaults(), iconFaults(), sampledBlockFaults(),
		toolShapeFaults(), resourceShapeFaults(), cursorShapeFaults(), promptShapeFaults(), readShapeFaults(), promptGetShapeFaults(), callShapeFaults(), completionShapeFaults(),
		openingShapeFaults(), logMessageFaults(), progressShapeFaults(), updatedShapeFaults(), serverTokenFaults(), samplingShapeFaults(), sampledContentFaults(),
		elicitationShapeFaults(), elicitationErrorFaults(), structuredFaults(), rootsShapeFaults(), cancellationShapeFaults(), legalShapes(), legalAskedShapes(),
	)
}

// Tables returns the functions that return the rows of each area.
func Tables() map[string][]func() []*Fault { return tables }
