package state

import (
	"context"
	"errors"
	"time"
)

// KeptBackups is how many earlier checkpoints a store keeps of a stack: the changes of
// some days of work, in at most so many times the space of the state.
const KeptBackups = 10

// BackupInfo is an earlier checkpoint that is kept.
type BackupInfo struct {
	// ID names it among those of its stack.
	ID string `json:"id"`
	// Written is when it was written as the current one; zero where that is not known.
	Written time.Time `json:"written"`
}

// ErrNoBackup says that a stack has no such backup.
var ErrNoBackup = errors.New("there is no backup")

// Archive is implemented by stores that keep more of a stack than its state: how that
// was before the last change, and the history of its updates. Whoever calls SetHistory
// holds the stack's lease.
type Archive interface {
	// Backups lists the earlier checkpoints, the newest first: the last [KeptBackups]. If the
	// current checkpoint is gone, a copy of it may be the first of them.
	Backups(ctx context.Context, name StackName) ([]BackupInfo, error)
	// Backup returns an earlier checkpoint, and the records that followed on it if the store
	// still has them. The error is ErrNoBackup if there is none of that ID, and ErrCorrupt if it
	// is damaged.
	Backup(ctx context.Context, name StackName, id string) (*Contents, error)
	// History returns the records of updates, the oldest first; none where there are none.
	History(ctx context.Context, name StackName) ([][]byte, error)
	// SetHistory replaces the records, each of which is JSON in one line; none remove them.
	SetHistory(ctx context.Context, name StackName, records [][]byte) error
}
