// Package canontest makes, shows, and echoes values of every type of the contract,
// for tests of what carries them between hosts and guests.
//
// An [EchoProvider] answers with values that follow from the bytes of the request,
// and calls the host's interfaces on the way; the other Echo types do the same on the
// host's side. If such a provider answers the same directly and across a boundary, all
// fields of all types crossed it unchanged.
package canontest
