// Package generate makes what a fuzzer sends: JSON values, JSON-RPC messages
// right and wrong, typed params of every method, instances of JSON Schemas,
// damaged bytes and HTTP requests, and sequences of operations.
//
// All generators are of rapid, so that laws about them can be tested with it.
// The fuzzer draws from them by Generator.Example with a seed of its own: an
// operation is a value that can be kept, varied, shrunk and written to a file,
// and means the same whoever made it.
package generate
