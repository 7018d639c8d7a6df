// Package state keeps a stack's record of its resources, durably.
//
// A [Snapshot] is the state at one moment. A [Codec] writes it in Pulumi's deployment JSON, with
// secrets encrypted, and loses nothing that it read. During a run the engine holds a [Stack]: each
// step appends an [Entry] to its journal, at a cost that does not depend on the size of the stack.
// At the end the stack is written as a checkpoint. After a crash, the next run goes on from the
// last checkpoint and the journal, and sees each acknowledged entry as a whole.
//
// A [Store] keeps checkpoints and journals, and gives the [Lease] of a stack to one writer at a
// time. Package filestore keeps them in files, memstore in memory.
package state
