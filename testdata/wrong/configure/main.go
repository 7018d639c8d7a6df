// Command configure is a provider of notes that breaks one rule. It crashes on a configuration that it accepts.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (provider) Configure(context.Context, abi.ConfigureRequest) error {
	panic("no reader")
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
