package call

import "github.com/husk-dev/husk/abi"

// InvalidArgument returns the error for a wrong value at a path.
func InvalidArgument(path, message string) error {
	e := abi.NewError(abi.ErrorKindInvalidArgument, message)
	e.Path = path
	return e
}
