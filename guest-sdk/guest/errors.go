package guest

import (
	"strings"

	"github.com/husk-dev/husk/abi"
)

// NotFound returns the error for a resource, or another object of a request, that does not
// exist. Read returns it for a resource that is gone.
func NotFound(message string) error {
	return abi.NewError(abi.ErrorKindNotFound, message)
}

// InvalidArgument returns the error that the input at the path, for example tags.owner, is
// not as it must be. Rules that need nothing but the inputs belong in Check.
func InvalidArgument(path, message string) error {
	e := abi.NewError(abi.ErrorKindInvalidArgument, message)
	e.Path = path
	return e
}

// Unavailable returns the error that a service cannot be reached now.
func Unavailable(message string) error {
	e := abi.NewError(abi.ErrorKindUnavailable, message)
	e.Origin = abi.ErrorOriginRemote
	return e
}

// InitFailed returns the error that a resource was created or updated, and is in the state
// that is answered beside the error, but is not healthy, for these reasons. The state is
// saved, and the next deployment updates the resource.
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
