// Package state holds what a stack knows of its resources, durably.
//
// A [Snapshot] is the state at one moment: [Resource]s, operations that were
// begun, and what belongs to the stack as a whole. A [Codec] writes it in Pulumi's
// deployment JSON, secrets encrypted, and loses nothing that it read.
//
// During a run the engine holds a [Stack]. Each step appends an [Entry] to the
// stack's journal before it starts and before it is reported done; what an entry
// costs does not depend on the size of the stack. When the run ends, the stack
// is written as a checkpoint. A run that does not come so far, killed or out of
// power, leaves the checkpoint of the run before and the journal, and the next
// one goes on from there: it sees each entry wholly or not at all, and sees all
// that were acknowledged.
//
// A [Store] keeps checkpoints and journals, and lets one writer at a time have
// the [Lease] of a stack. Package filestore keeps them in files, memstore in
// memory.
package state
