// Package program reads what a project says about itself: its project file (Husk.yaml, or a
// Pulumi.yaml as it is) and the configuration of its stacks. An error is [source.Diagnostics] with
// all that is wrong with a file.
package program
