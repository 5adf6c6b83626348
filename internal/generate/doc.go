// Package generate generates what a fuzzer sends: JSON values, valid and
// invalid JSON-RPC messages, typed params for every method, instances of JSON
// Schemas, damaged bytes and HTTP requests, and sequences of operations. It also
// generates the arguments with which a run calls tools.
//
// One generator follows the keywords of a schema, and asks choices where they
// leave something open. With certain, the value is always the same, simple and
// certainly valid. With drawn, it is a random value that the validator checks.
//
// All other generators use rapid, so that property tests can check them. The
// fuzzer draws with Generator.Example and its own seed. An operation is a value
// that can be stored, varied, shrunk and written to a file, and means the same
// whatever generated it.
package generate
