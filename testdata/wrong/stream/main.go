// Command stream is a provider of notes that breaks one rule. It cannot close a stream.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (provider) StreamClose(context.Context, abi.StreamHandle) error {
	return abi.NewError(abi.ErrorKindNotFound, "there is no such stream")
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
