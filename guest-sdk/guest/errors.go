package guest

import (
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
)

// ErrGone is the error of Read and Delete for an object that does not exist. Nothing else says that: an error of the
// kind [abi.ErrNotFound] that another service or the host returned is a failure like any other, since a wrong
// project or credential leads to it as well.
var ErrGone error = gone{abi.NewError(abi.ErrorKindNotFound, "the object does not exist")}

// NotFound returns [ErrGone] with a message. Elsewhere than in Read and Delete, it is an error of the kind
// [abi.ErrNotFound].
func NotFound(message string) error {
	return gone{abi.NewError(abi.ErrorKindNotFound, message)}
}

type gone struct{ cause *abi.Error }

func (g gone) Error() string { return g.cause.Error() }

func (g gone) Unwrap() error { return g.cause }

func (gone) Is(target error) bool {
	_, ok := target.(gone)
	return ok
}

// InvalidArgument returns the error for a wrong input at a path, for example tags.owner. Rules that
// need only the inputs belong in Check.
func InvalidArgument(path, message string) error {
	return call.InvalidArgument(path, message)
}

// Unavailable returns the error for a service that cannot be reached now.
func Unavailable(message string) error {
	e := abi.NewError(abi.ErrorKindUnavailable, message)
	e.Origin = abi.ErrorOriginRemote
	return e
}

// InitFailed returns the error for a resource that exists but is not healthy. The state that is
// returned with the error is saved, and the next deployment updates the resource.
func InitFailed(reasons ...string) error {
	e := abi.NewError(abi.ErrorKindInitFailed, "the resource exists but is not healthy")
	if len(reasons) == 0 {
		reasons = []string{e.Message}
	}
	for i, reason := range reasons {
		reasons[i] = strings.TrimSpace(reason)
	}
	e.InitFailure = &abi.InitFailure{Reasons: reasons}
	return e
}
