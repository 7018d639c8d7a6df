package state

import (
	"context"
	"errors"
)

// ErrNoBackup says that a stack has no backup.
var ErrNoBackup = errors.New("there is no backup")

// Archive is implemented by stores that keep more of a stack than its state: how that
// was before the last change, and the history of its updates. Whoever calls SetHistory
// holds the stack's lease.
type Archive interface {
	// Backup returns the checkpoint before the last one. The error is ErrNoBackup where
	// there is none.
	Backup(ctx context.Context, name StackName) ([]byte, error)
	// History returns the records of updates, the oldest first; none where there are none.
	History(ctx context.Context, name StackName) ([][]byte, error)
	// SetHistory replaces the records, each of which is JSON in one line; none remove them.
	SetHistory(ctx context.Context, name StackName, records [][]byte) error
}
