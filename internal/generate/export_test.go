package generate

// Text is anyText, for tests of the package's interface.
var Text = anyText
