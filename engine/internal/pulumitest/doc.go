// Package pulumitest holds what Husk writes as a stack's state against Pulumi's own code,
// and what Pulumi writes against Husk's. It is a module of its own, because Pulumi's engine
// needs more than a hundred other modules, which nobody who uses Husk is to download.
package pulumitest
