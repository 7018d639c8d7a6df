package call

import (
	"strings"

	"github.com/husk-dev/husk/abi"
)

// InvalidArgument returns the error for a wrong value at a path.
func InvalidArgument(path, message string) error {
	e := abi.NewError(abi.ErrorKindInvalidArgument, message)
	e.Path = path
	return e
}

// Refusal returns the error that says why inputs or arguments are refused.
func Refusal(failures []abi.CheckFailure) error {
	if len(failures) == 1 {
		return InvalidArgument(failures[0].Path, failures[0].Reason)
	}
	reasons := make([]string, len(failures))
	for i, f := range failures {
		reasons[i] = f.Path + ": " + f.Reason
	}
	return InvalidArgument("", strings.Join(reasons, "\n"))
}
