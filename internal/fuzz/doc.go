// Package fuzz sends random sequences of operations to a server, and varies those that produced
// something new. Each sequence is played in one or several conversations, and laws judge the
// transcripts, the passive rules first. A sequence that breaks a law is shrunk on fresh servers,
// retried, and then reported.
//
// Shrinking works on the operations: first on sequences, then on their values and bytes. Unlike the
// package rapid, it does not shrink the random stream that produced the operations. Shrinking that
// stream would tie a finding to one version of a generator, would need a run for each of thousands
// of steps while a server may take a second to start, and could not shrink sequences that were kept
// or varied.
package fuzz
