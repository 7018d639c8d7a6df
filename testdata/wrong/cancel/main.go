// Command cancel is a provider of notes that breaks one rule. It cannot be cancelled.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (provider) Cancel(context.Context) error {
	return abi.NewError(abi.ErrorKindInternal, "not now")
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
