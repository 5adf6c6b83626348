// Package generate generates what a fuzzer sends: JSON values, valid and
// invalid JSON-RPC messages, typed params for every method, instances of JSON
// Schemas, damaged bytes and HTTP requests, and sequences of operations. It also
// generates the arguments with which a run calls tools.
//
// One generator follows the keywords of a schema. An implementation of the interface choices
// decides what the keywords leave open: certainChoices always chooses the same simple, certainly
// valid value, and drawnChoices chooses a random value, which the validator checks.
//
// All other generators use rapid, so that property tests can check them. The
// fuzzer draws with Generator.Example and its own seed. An operation is a value
// that can be stored, varied, shrunk and written to a file, and means the same
// whatever generated it.
package generate
