package abi

import _ "unsafe" // for go:linkname

// hostError returns an error that the host tells package net, whose files in modules are of internal/build/netoverlay. So the
// errors of connections are errors of the contract.
//
//go:linkname hostError
func hostError(kind, origin uint8, message string) error {
	return &Error{Kind: ErrorKind(kind), Origin: ErrorOrigin(origin), Message: message}
}
