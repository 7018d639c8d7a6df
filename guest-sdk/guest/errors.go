package guest

import (
	"strings"

	"github.com/husk-dev/husk/abi"
)

// NotFound returns the error for an object that does not exist, such as a resource in Read.
func NotFound(message string) error {
	return abi.NewError(abi.ErrorKindNotFound, message)
}

// InvalidArgument returns the error for a wrong input at a path, for example tags.owner. Rules that
// need only the inputs belong in Check.
func InvalidArgument(path, message string) error {
	e := abi.NewError(abi.ErrorKindInvalidArgument, message)
	e.Path = path
	return e
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
