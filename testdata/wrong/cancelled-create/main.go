// Command cancelled-create is a provider of notes that breaks one rule. Its Create does not notice that it was cancelled.
package main

import (
	"context"
	"time"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

// pause is how long a note takes to write.
const pause = time.Second

type provider struct{ *notes.Provider }

func (p provider) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	if !request.Preview {
		// Longer than a host waits. One that was not cancelled does not.
		for deadline := time.Now().Add(pause); time.Now().Before(deadline); {
		}
	}
	return p.Provider.Create(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
