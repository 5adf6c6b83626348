package spec

// Needs is for the tests.
var Needs = needs
