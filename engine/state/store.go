package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Store keeps the states of stacks. It sees bytes only: a checkpoint, which is the JSON of a
// snapshot, and a journal of records, numbered without gaps from the checkpoint's sequence number
// on. Beside these it keeps earlier checkpoints and a history of updates.
//
// Whoever writes holds the stack's [Lease]. Every store must pass the tests of
// engine/state/storetest. A Store is safe for concurrent use, also by other processes.
type Store interface {
	// List returns the names of the stacks, sorted.
	List(ctx context.Context) ([]StackName, error)
	// Create makes a stack with the checkpoint, at sequence 0, or returns ErrStackExists.
	Create(ctx context.Context, name StackName, checkpoint []byte) error
	// Load returns a state that was current at some moment during the call, without a lease. The
	// error is ErrStackNotFound if there is no such stack, and ErrCorrupt if the state is damaged,
	// or is gone although nobody removed the stack.
	Load(ctx context.Context, name StackName) (*Contents, error)
	// Lease takes the right to write a state, even a damaged one. The error is ErrLocked if another
	// holds it, ErrStackNotFound if there is no such stack.
	Lease(ctx context.Context, name StackName, holder Holder) (Lease, error)
	// LeaseAndLoad is Lease, and Load of the lease: the state is the one at the moment when the lease begins. After an error of
	// either, there is no lease. A server does both in fewer round trips; other stores call [LeaseThenLoad].
	LeaseAndLoad(ctx context.Context, name StackName, holder Holder) (Lease, *Contents, error)
	// Break ends the lease of a holder that cannot end it, whose next write is ErrFenced.
	Break(ctx context.Context, name StackName) error

	// Backups lists the last [KeptBackups] earlier checkpoints, the newest first. If the current
	// one is gone, a copy of it may be the first.
	Backups(ctx context.Context, name StackName) ([]BackupInfo, error)
	// Backup returns an earlier checkpoint, and records that follow on it. The error is ErrNoBackup
	// if there is none of that ID, and ErrCorrupt if it is damaged.
	Backup(ctx context.Context, name StackName, id string) (*Contents, error)
	// History returns the records of updates, the oldest first; none if there are none.
	History(ctx context.Context, name StackName) ([][]byte, error)
	// SetHistory replaces the records, each of which is JSON in one line; none remove them. The caller holds the lease.
	SetHistory(ctx context.Context, name StackName, records [][]byte) error
}

type listedKey struct{}

// Together returns a context for Loads of many stacks: a store may list its files once for all of them. Listing them for each
// stack takes time quadratic in the number of stacks.
func Together(ctx context.Context) context.Context {
	return context.WithValue(ctx, listedKey{}, new(sync.Map))
}

// Listed returns the map in which a store keeps its listings for the Loads of a context, nil unless the context is of [Together].
func Listed(ctx context.Context) *sync.Map {
	listed, _ := ctx.Value(listedKey{}).(*sync.Map)
	return listed
}

// LeaseThenLoad takes the lease of a stack and loads the state by two calls. After an error, there is no lease.
func LeaseThenLoad(ctx context.Context, store Store, name StackName, holder Holder) (Lease, *Contents, error) {
	lease, err := store.Lease(ctx, name, holder)
	if err != nil {
		return nil, nil, err
	}
	contents, err := lease.Load(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
	}
	return lease, contents, nil
}

// Lease is the right to write one stack's state. It ends with Release, with its process, or with
// the store's Break; from then on its writes are ErrFenced and change nothing. Its methods are
// called one at a time.
type Lease interface {
	// Token is the fencing token, which is larger than the tokens of earlier leases of the stack.
	Token() uint64
	// Load returns the state, and makes the journal fit to append to. After an error, only Salvage,
	// Reset, Remove, and Release can be used.
	Load(ctx context.Context) (*Contents, error)
	// Salvage returns the readable parts of a damaged stack: the checkpoint, the records up to the damage, and the lost ones. It
	// changes nothing.
	Salvage(ctx context.Context) (*Contents, error)
	// Reset makes the checkpoint the stack's state, even if that was damaged or gone. It returns
	// the names of the damaged files and the journal, which it keeps. Load comes next.
	Reset(ctx context.Context, checkpoint []byte) (aside []string, err error)
	// Reserve sets space aside for the results of operations on a full disk. It is called before
	// each operation, which must not begin after an error such as ErrNoSpace.
	Reserve(ctx context.Context) error
	// Append makes a record durable, and does not retain it. A sequence number that is not the next
	// one is ErrSequence. After ErrNoSpace the journal is as before, and the call may be tried
	// again, unless the record was saved (see NoSpaceError). Any other error leaves it open whether
	// the record is in the journal, and the lease takes no more.
	Append(ctx context.Context, sequence uint64, record []byte) error
	// Checkpoint replaces the checkpoint by one, a JSON object, that holds the effects of all records, and drops these, in one
	// step that a crash cannot divide. sequence must be the number of the last record, else the error is ErrSequence. After an
	// error the old checkpoint and journal are in place, or the new checkpoint is; if that is not known, the lease takes no more.
	Checkpoint(ctx context.Context, sequence uint64, checkpoint []byte) error
	// CheckpointBoth is Checkpoint for two leases of the same store, in one such step.
	CheckpointBoth(ctx context.Context, mine NextCheckpoint, other Lease, others NextCheckpoint) error
	// Rename makes a stack of another name with the checkpoint, at sequence 0, and removes the leased one, in one such step. The
	// store's data beside a state goes along. After ErrStackExists nothing has changed.
	Rename(ctx context.Context, to StackName, checkpoint []byte) error
	// Remove removes the stack and the store's data beside it, except backups, in one step.
	Remove(ctx context.Context) error
	// Release ends the lease.
	Release(ctx context.Context) error
}

// NextCheckpoint has the arguments of Lease.Checkpoint.
type NextCheckpoint struct {
	Sequence   uint64
	Checkpoint []byte
}

// Contents is a store's data of a stack.
type Contents struct {
	// CheckpointFile and JournalFile say where the contents are, for messages.
	CheckpointFile, JournalFile string
	// CheckpointRemedy and JournalRemedy say what to do if they turn out to be damaged.
	CheckpointRemedy, JournalRemedy string
	// Checkpoint is the JSON of a snapshot.
	Checkpoint []byte
	// Sequence is the checkpoint's; the first record's is one more.
	Sequence uint64
	// Records are those after the checkpoint, in order.
	Records [][]byte
	// Dropped is a last record that a crash cut short; nil if there is none.
	Dropped *DroppedRecord
	// CheckpointDamage is set by Salvage, with all records in Lost and any bytes in Checkpoint.
	CheckpointDamage *CorruptError
	// Damage is the journal's, and Lost are the records from there on. Salvage and Backup set them.
	Damage *CorruptError
	Lost   []LostRecord
}

// LostRecord is a record at or behind the damage of a journal, which cannot be applied.
type LostRecord struct {
	Sequence uint64
	// Record is nil if it cannot be read.
	Record []byte
}

// DroppedRecord is a last record that was not written as a whole, and never confirmed.
type DroppedRecord struct {
	// File is the journal.
	File string
	// Offset is where the record begins, and Size how much of it there is, in bytes.
	Offset, Size int64
	// Reason describes its fault.
	Reason string
}

// Holder says who holds a lease, for the message to others who want it.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	User    string    `json:"user"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
}

// StackName names a stack: the project, and the stack within it.
type StackName struct {
	Project, Name string
}

// maxNameLength is in bytes, as in Pulumi. With an extension it fits every file system.
const maxNameLength = 100

// String returns project/name.
func (n StackName) String() string { return n.Project + "/" + n.Name }

// Organization is the organization of every stack that no service keeps, as in Pulumi.
const Organization = "organization"

// Qualified returns the name as a checkpoint has it: organization/project/name.
func (n StackName) Qualified() string { return Organization + "/" + n.String() }

// checkQualified checks the name in a checkpoint: organization/project/name, or the end of it. The
// error is ErrStackName.
func checkQualified(text string) error {
	if text == "" {
		return nil
	}
	parts := strings.Split(text, "/")
	if len(parts) > 3 {
		return errorOf(ErrStackName, "%q cannot be a stack's full name: it must have the form organization/project/name", text)
	}
	for i, what := range []string{"organization", "project name", "stack name"}[3-len(parts):] {
		if err := validatePart(what, parts[i]); err != nil {
			return err
		}
	}
	return nil
}

// Validate checks that both parts are letters, digits, "-", "_", and ".", and can be names of files
// on every system. The error is ErrStackName.
func (n StackName) Validate() error {
	if err := validatePart("project name", n.Project); err != nil {
		return err
	}
	return validatePart("stack name", n.Name)
}

func validatePart(what, name string) error {
	reason := ""
	switch {
	case name == "":
		reason = "it is empty"
	case len(name) > maxNameLength:
		reason = fmt.Sprintf("it is longer than %d characters", maxNameLength)
	case name[0] == '.' || name[0] == '-':
		reason = fmt.Sprintf("it begins with %q", name[:1])
	case strings.HasSuffix(name, "."):
		reason = `it ends with "."`
	case strings.ContainsFunc(name, func(r rune) bool { return !nameRune(r) }):
		reason = `only letters, digits, "-", "_", and "." are allowed`
	case !filepath.IsLocal(name):
		reason = "the operating system reserves it"
	}
	if reason == "" {
		return nil
	}
	return errorOf(ErrStackName, "%q cannot be a %s: %s", name, what, reason)
}

func nameRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.'
}

// KeptBackups is how many earlier checkpoints a store keeps, from some days of work.
const KeptBackups = 10

// BackupInfo is an earlier checkpoint that is kept.
type BackupInfo struct {
	// ID names it among its stack's backups.
	ID string `json:"id"`
	// Written is when it was written as the current one; zero if that is not known.
	Written time.Time `json:"written"`
}

// ErrNoBackup says that a stack has no such backup.
var ErrNoBackup = errors.New("there is no backup")

// CheckHistory returns an error if a record cannot be in a history, in which each is one line.
func CheckHistory(name StackName, records [][]byte) error {
	for _, record := range records {
		if bytes.ContainsRune(record, '\n') {
			return fmt.Errorf("a record of the history of %s has more than one line", name)
		}
	}
	return nil
}
