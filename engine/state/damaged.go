package state

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

// Damaged is a leased stack whose state may be unreadable: [Open] and [Load] return ErrCorrupt for
// it. It needs no key, because it opens no secrets.
type Damaged struct {
	name  StackName
	lease Lease
}

// OpenDamaged leases a stack without reading its state.
func OpenDamaged(ctx context.Context, store Store, name StackName, holder Holder) (*Damaged, error) {
	if err := name.Validate(); err != nil {
		return nil, err
	}
	lease, err := store.Lease(ctx, name, holder)
	if err != nil {
		return nil, err
	}
	return &Damaged{name, lease}, nil
}

// Close ends the lease.
func (d *Damaged) Close(ctx context.Context) error {
	return d.lease.Release(context.WithoutCancel(ctx))
}

// Reset makes a snapshot the stack's state, and returns the files that hold the damaged one.
func (d *Damaged) Reset(ctx context.Context, snapshot *Snapshot, codec *Codec) (aside []string, err error) {
	next := snapshot.Clone()
	next.Stack = d.name.Qualified()
	text, err := codec.EncodeCheckpoint(ctx, next)
	if err == nil {
		aside, err = d.lease.Reset(ctx, text)
	}
	if err != nil {
		return aside, fmt.Errorf("saving the stack %s: %w", d.name, err)
	}
	return aside, nil
}

// Salvage is the part of a stack that could be saved from a damaged journal.
type Salvage struct {
	// Damage is the fault of the journal, nil if it has none.
	Damage *CorruptError
	// Kept counts the records before the damage. The snapshot has their effects.
	Kept int
	// Lost are the records from the damage on.
	Lost []LostChanges
	// Snapshot is the state up to the damage. Operations of lost records are pending.
	Snapshot *Snapshot
	// Codec writes it.
	Codec *Codec
}

// LostChanges is a journal record that was lost.
type LostChanges struct {
	// Sequence is the record's number.
	Sequence uint64
	// Changes describe what the record did, for messages; nil if it cannot be read.
	Changes []string
}

// Salvage reads the state up to the damage of the journal, or fails with ErrCorrupt.
func (d *Damaged) Salvage(ctx context.Context) (*Salvage, error) {
	contents, err := d.lease.Salvage(ctx)
	if err != nil {
		return nil, err
	}
	if contents.CheckpointDamage != nil {
		return nil, contents.CheckpointDamage
	}
	out := &Salvage{Damage: contents.Damage, Kept: len(contents.Records)}
	if out.Snapshot, out.Codec, err = contents.Decode(ctx, nil); err != nil {
		return nil, err
	}
	out.Lost = out.Snapshot.noteLost(ctx, out.Codec, contents.Lost)
	return out, nil
}

// Restored is the state that a damaged stack was restored to.
type Restored struct {
	Snapshot *Snapshot
	// Unsure are resources that only damaged files name, and that are pending creations.
	Unsure []urn.URN
	// Aside are the files under which the damaged ones are kept.
	Aside []string
}

// Restore makes a backup the stack's state.
func (d *Damaged) Restore(ctx context.Context, backup *Contents) (*Restored, error) {
	was, err := d.lease.Salvage(ctx)
	if err != nil {
		return nil, err
	}
	snapshot, codec, err := backup.Decode(ctx, nil)
	if err != nil {
		return nil, err
	}
	lost := backup.Lost
	if len(backup.Records) == 0 && backup.Damage == nil {
		lost = was.Lost // the journal does not follow on the backup
	}
	before := snapshot.nextOp
	snapshot.noteLost(ctx, codec, lost)
	if was.CheckpointDamage != nil {
		snapshot.noteNamed(was.Checkpoint)
	}
	out := &Restored{Snapshot: snapshot}
	recorded := snapshot.urns()
	for op, v := range snapshot.operations {
		if u := v.resource.URN; op >= before && !recorded[u] {
			out.Unsure = append(out.Unsure, u)
		}
	}
	slices.Sort(out.Unsure)
	out.Aside, err = d.Reset(ctx, snapshot, codec)
	return out, err
}

// noteLost adds pending operations for lost records, and describes each record.
func (s *Snapshot) noteLost(ctx context.Context, codec *Codec, records []LostRecord) []LostChanges {
	unsure := s.pendingURNs()
	last := maps.Clone(s.slots) // as the records before the one at hand leave them
	begin := func(typ OperationType, v slot) {
		if r := v.resource; r.Custom && !r.IsProvider() && !unsure[r.URN] {
			unsure[r.URN] = true
			v.operation = typ
			s.addOperation(v)
		}
	}
	out := make([]LostChanges, len(records))
	for i, record := range records {
		out[i].Sequence = record.Sequence
		if record.Record == nil {
			continue
		}
		entries, err := codec.decodeRecord(ctx, record.Record)
		if err != nil {
			continue // no use to anybody
		}
		note := func(format string, args ...any) {
			out[i].Changes = append(out[i].Changes, fmt.Sprintf(format, args...))
		}
		for _, entry := range entries {
			for at, change := range entry.changes {
				switch change := change.(type) {
				case BeginOperation:
					note("began %s %s", change.Type, change.Resource.URN)
					begin(change.Type, slot{resource: change.Resource, json: entry.texts[at]})
				case PutResource:
					r, typ := change.Resource, OperationCreating
					if old, ok := last[change.Serial]; ok && old.resource.URN == r.URN {
						typ = OperationUpdating
					}
					if r.ID != "" {
						note("recorded %s with the ID %q", r.URN, r.ID)
					} else {
						note("recorded %s", r.URN)
					}
					last[change.Serial] = slot{resource: r, json: entry.texts[at]}
					begin(typ, last[change.Serial])
				case RemoveResource:
					if old, ok := last[change.Serial]; ok {
						note("removed %s", old.resource.URN)
						begin(OperationDeleting, old)
					}
				case EndOperation:
				default:
					note("changed the metadata of the stack")
				}
			}
		}
	}
	return out
}

// customIn matches the resources with a provider in JSON that is damaged and cannot be parsed.
var customIn = lazyregexp.Regexp{Syntax: `"urn":\s*"(urn:pulumi:[^"\\]+)",\s*"custom":\s*true`}

// noteNamed adds a pending creation for each resource that only a damaged checkpoint names.
func (s *Snapshot) noteNamed(checkpoint []byte) {
	known := s.pendingURNs()
	maps.Copy(known, s.urns())
	for _, match := range customIn.Get().FindAllSubmatch(checkpoint, -1) {
		u := urn.URN(match[1])
		r := &Resource{URN: u, Type: u.Type(), Custom: true}
		if _, err := urn.Parse(string(u)); err != nil || known[u] || r.IsProvider() {
			continue
		}
		known[u] = true
		s.addOperation(slot{operation: OperationCreating, resource: r})
	}
}

func (s *Snapshot) urns() map[urn.URN]bool {
	out := make(map[urn.URN]bool)
	for _, v := range s.slots {
		out[v.resource.URN] = true
	}
	return out
}

func (s *Snapshot) pendingURNs() map[urn.URN]bool {
	out := make(map[urn.URN]bool)
	for _, v := range s.operations {
		out[v.resource.URN] = true
	}
	return out
}
