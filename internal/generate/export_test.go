package generate

// Text is text, for tests of the package's interface.
var Text = text
