// Package generate generates what a fuzzer sends: JSON values, valid and
// invalid JSON-RPC messages, typed params for every method, instances of JSON
// Schemas, damaged bytes and HTTP requests, and sequences of operations.
//
// All generators use rapid, so that property tests can check them. The fuzzer
// draws with Generator.Example and its own seed. An operation is a value that
// can be stored, varied, shrunk and written to a file, and means the same
// whatever generated it.
package generate
