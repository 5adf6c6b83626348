package faults

import "slices"

// Shapes returns the faults and legal variations in the shape of messages.
func Shapes() []*Fault {
	return slices.Concat(
		contentFaults(), annotationFaults(), iconFaults(), samplingBlockFaults(),
		toolShapeFaults(), resourceShapeFaults(), cursorShapeFaults(), promptShapeFaults(), readShapeFaults(), promptGetShapeFaults(), callShapeFaults(), completionShapeFaults(),
		initializeShapeFaults(), logMessageFaults(), progressShapeFaults(), updatedShapeFaults(), serverTokenFaults(), samplingShapeFaults(), samplingContentFaults(),
		elicitationShapeFaults(), elicitationErrorFaults(), structuredContentFaults(), rootsShapeFaults(), cancellationShapeFaults(), legalShapes(), legalRequestShapes(),
	)
}

// Tables returns the functions that return the rows of each area.
func Tables() map[string][]func() []*Fault { return tables }

// Combine is combine.
var Combine = combineSeams
