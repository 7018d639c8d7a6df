package provider

import "github.com/husk-dev/husk/guest-sdk/guest"

// failures collects what Check finds.
type failures []guest.CheckFailure

// add notes what is wrong with the property at the path.
func (f *failures) add(path, reason string) {
	*f = append(*f, guest.CheckFailure{Path: path, Reason: reason})
}
