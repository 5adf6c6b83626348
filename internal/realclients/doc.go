// Package realclients holds the reference server against clients that nobody
// here wrote (fixtures/clients): each uses every feature that it has once.
package realclients
