// Package capability acts for guests within their grants: it sends requests, opens connections, reads assets, and keeps values.
// It knows calls and instances only by the objects that they hold; package host says which guest has which. A capability is one
// file, or a few with its name in front.
package capability

import (
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/internal/base/printable"
)

// Ledger counts the bytes and files that the host holds for a guest. Errors are for the guest, and begin with the operation.
type Ledger interface {
	// Acquire counts until Abandon.
	Acquire(what string, files int, bytes uint64) error
	Abandon(files int, bytes uint64)
	// Hold counts until Release.
	Hold(what string, bytes uint64) error
	Release(bytes uint64)
	// Pass counts until the guest calls the host again, or its call ends.
	Pass(what string, bytes uint64) error
	// Passing returns the bytes counted so.
	Passing() uint64
}

// Held has the objects that a guest has open by a capability.
type Held interface {
	// Count returns how many there are.
	Count() int
	// CloseAll closes all of them.
	CloseAll()
}

// Use is a use of a capability, or an attempt.
type Use struct {
	// Target is the variable, file, request, host and port, or key, for people.
	Target string
	// Needs are the least grants that cover it. The scope of a directory is a path as the guest sees it.
	Needs []grant.Text
	// Looks is set for a use that only looks for a file.
	Looks bool
	// Err is nil if the use is granted.
	Err error
}

// Uses lists what a guest uses. Nil lists nothing.
type Uses func(Use)

// Note lists the use of a capability in a scope.
func (u Uses) Note(needs grant.Text, target string, err error) {
	if u != nil {
		u(Use{Target: target, Needs: []grant.Text{needs}, Err: err})
	}
}

// Advice is as in [grant.Set]: only who makes the grants knows where they come from.
type Advice func(grant.Text) string

// Denied returns a refusal, with what to do so that it would not be one.
func (a Advice) Denied(message string, missing grant.Text) error {
	advice := "to grant it, add to the provider's grants: " + missing.String()
	if a != nil {
		advice = a(missing)
	}
	return Failure(abi.ErrorKindDenied, message+"\n"+advice)
}

// Failure returns an error of the host's for a guest.
func Failure(kind abi.ErrorKind, message string) error {
	return &abi.Error{Kind: kind, Origin: abi.ErrorOriginHost, Message: printable.Text(message)}
}

// remoteFailure returns an error of a service's for a guest.
func remoteFailure(message string) error {
	return &abi.Error{Kind: abi.ErrorKindUnavailable, Origin: abi.ErrorOriginRemote, Message: printable.Text(message)}
}
