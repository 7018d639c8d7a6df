// Package pulumitest checks the states that Husk writes with Pulumi's own code, and the states that Pulumi writes with Husk's. It
// is a module of its own, because Pulumi's engine needs more than a hundred other modules, which nobody who uses Husk is to
// download.
package pulumitest
