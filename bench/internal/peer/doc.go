// Package peer is the native counterpart of modules in the benchmarks: a provider as a process of its own, behind the gRPC
// service of Pulumi, started and called as Pulumi does it. [Serve] is the process, [Start] is its engine.
//
// It is leaner than providers made with Pulumi's own SDK, which link more and convert properties in more steps: anything faster
// than this is faster than those, too.
package peer
