package provider

import "github.com/husk-dev/husk/guest-sdk/guest"

type failures []guest.CheckFailure

func (f *failures) add(path, reason string) {
	*f = append(*f, guest.CheckFailure{Path: path, Reason: reason})
}
