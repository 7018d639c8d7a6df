// Package canontest makes, shows, and echoes values of every type of the contract, for tests of the code that carries them
// between hosts and guests.
//
// An [EchoProvider] returns values that follow from the bytes of the request, and calls the host's
// interfaces on the way. The other Echo types are the host's side. If such a provider returns the
// same directly and across a boundary, all fields of all types crossed it unchanged.
package canontest
