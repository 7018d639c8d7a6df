package backend

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/engine/state"
)

// LeaseKey names a lease to the store that keeps it. It has hashes: who reads the store cannot take steps of the lease.
type LeaseKey struct{ owner, secret string }

// NewLeaseKey returns the key of a lease of an owner, whose holder knows a secret.
func NewLeaseKey(owner, secret string) LeaseKey { return LeaseKey{hashed(owner), hashed(secret)} }

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// String returns the key as a store keeps it. It begins with [LeasesOf].
func (k LeaseKey) String() string { return k.owner + "." + k.secret }

// LeasesOf returns the prefix that the keys of an owner have, and no others.
func LeasesOf(owner string) string { return hashed(owner) + "." }

// ErrRaced says that another process took a step of the same lease at the same time: another attempt sees what it did.
var ErrRaced = errors.New("two processes have used the lease at once")

// MaxLeases bounds the leases that one owner has at once: a run or a command has one, or two to move resources.
const MaxLeases = 1000

// ErrManyLeases says that an owner has [MaxLeases] already.
var ErrManyLeases = fmt.Errorf("%d leases of stacks at once, the most that it may have", MaxLeases)

// LeasesOf returns the prefix of the keys with the same owner.
func (k LeaseKey) LeasesOf() string { return k.owner + "." }

// Tail is the end of a journal: the token of the last lease of its stack, the sequence number of its last record, and the records
// that there are, by theirs.
type Tail struct {
	Token, Last uint64
	Records     map[uint64][]byte
}

// Missing returns the records of [Resumer.Continue] that are still to be appended.
func (t Tail) Missing(name state.StackName, token, sequence uint64, records [][]byte) ([][]byte, error) {
	has := 0
	for has < len(records) {
		is, ok := t.Records[sequence+uint64(has)]
		if !ok || !bytes.Equal(is, records[has]) {
			break
		}
		has++
	}
	switch next := sequence + uint64(has); {
	case has == len(records):
		return nil, nil
	case t.Token != token:
		return nil, state.Fenced(name)
	case t.Last+1 != next:
		return nil, state.OutOfSequence(name, next, t.Last+1)
	}
	return records[has:], nil
}

// A Resumer is a store whose leases end by its clock, and not with the process that has taken them: any process that knows the
// key of one takes its steps. A step that was taken before, and whose answer was lost, is taken only once.
type Resumer interface {
	state.Store
	// LeaseAs takes a lease that has a key, and loads the state if that is asked for. A caller that has the lease already gets it
	// again. It ends unless a step or Extend follows in time. One that was released is not taken again. The error is
	// ErrManyLeases if its owner has [MaxLeases] of them.
	LeaseAs(ctx context.Context, name state.StackName, holder state.Holder, key LeaseKey, load bool) (state.Lease, *state.Contents, error)
	// Resume returns the lease that has a key. Its state counts as loaded. The error is ErrFenced if the lease has ended. A step
	// of it is ErrRaced if another process has taken one meanwhile, and can be tried again with the result of another Resume.
	Resume(ctx context.Context, name state.StackName, key LeaseKey) (state.Lease, error)
	// Extend has a lease last as long as if it were taken now. The error is ErrFenced if it has ended.
	Extend(ctx context.Context, name state.StackName, key LeaseKey) error
	// Held returns the fencing token of a stack's lease, 0 for none.
	Held(ctx context.Context, name state.StackName) (token uint64, err error)
	// BreakHeld is Break for the lease with a token: one that was taken since lasts.
	BreakHeld(ctx context.Context, name state.StackName, token uint64) error
	// Continue appends records to the journal of a stack, the first with a sequence number, as who had the lease with a token would
	// have: all that are not there, or none. The error is ErrFenced if somebody has taken another lease since.
	Continue(ctx context.Context, name state.StackName, token, sequence uint64, records [][]byte) error
	// EndLeases ends the lease of an owner, in a stack, or all of them if the stack is the zero value.
	EndLeases(ctx context.Context, owner string, stack state.StackName) error
}
