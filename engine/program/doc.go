// Package program reads what a project says about itself: its project file
// (Husk.yaml, or a Pulumi.yaml as it is) and the configuration of its stacks.
// The command line loads both and gives them to a source of programs, such as
// package yamlprogram.
//
// Whatever is wrong with a file is answered as [source.Diagnostics], with
// everything that could be found in one reading.
package program
