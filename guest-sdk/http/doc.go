// Package http is the way out of a provider over HTTP. A provider that imports it,
//
//	import _ "github.com/husk-dev/husk/guest-sdk/http"
//
// uses package net/http as any program does: in a module the default transport is this
// package's [Transport], by which the host sends the requests, as far as the provider's grants go. In other programs, such as
// tests, the default transport stays as it is. It also does in modules that husk provider build makes: there, every transport of
// net/http sends through the host.
//
// A refusal of the host is an error that wraps [abi.ErrDenied]; its message says what to grant. The host has the connections,
// TLS, and the decompression of responses. A module has one thread, which waits in the host while a request of Transport is on
// its way: contexts end requests by their deadline and with the provider's call, but not when another goroutine cancels them. A
// response's body ends with the call that received it.
package http
