// Package fuzz sends a server what nobody wrote down beforehand: sequences of
// operations that are drawn at random and varied where they brought about
// something new. Each sequence is held as one or several conversations, and
// laws judge their transcripts, the passive rules first. What breaks a law is
// made as small as it can be on fresh servers, tried again, and only then
// reported.
//
// Shrinking works on the operations themselves: sequences first, then their
// values and bytes. The random stream behind them is not shrunk, as rapid does
// it: that would tie a finding to the version of a generator, would need a run
// for each of thousands of steps where a server takes a second to start, and
// could not shrink what was kept from an earlier run or varied since.
package fuzz
