// Package yamlprogram runs programs written in YAML, in the syntax of Pulumi
// YAML, against the engine's resource monitor.
//
// A run first checks the whole program against the schemas of the packages it
// uses, and tells everything that is wrong with it; nothing is registered before
// that. It then registers each resource as soon as those that it refers to are
// done, independent ones at the same time.
//
// A package that the project declares with parameters is one that its provider
// becomes by them: the program is checked against the schema of what it becomes, and
// the package is registered before anything that belongs to it.
//
// Values keep what they are made of: what was computed from a resource carries
// its URN, what was computed from a secret is secret, and what is not known in a
// preview is unknown.
package yamlprogram
