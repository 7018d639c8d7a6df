package pulumiwire

import "github.com/husk-dev/husk/abi"

// LeaveOut says in a failure what of the object's state could not be read. It is read again before it is updated.
func LeaveOut(failure *abi.InitFailure, faults []Fault) {
	for _, f := range faults {
		failure.Reasons = append(failure.Reasons, "the resource exists, but its state could not be read: "+f.Error())
		failure.RefreshBeforeUpdate = true
	}
}

// Unread returns the error of an object that exists, and whose state could be read in part.
func Unread(failure abi.InitFailure, faults []Fault) error {
	LeaveOut(&failure, faults)
	e := abi.NewError(abi.ErrorKindInitFailed, "the resource exists, but the state that the plugin answered could not be read whole")
	e.InitFailure = &failure
	return e
}
