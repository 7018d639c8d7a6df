package guest

import (
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
)

// ServeProvider serves a provider that implements the contract's methods itself, such
// as an adapter of one that was written for something else. It is called in main and
// returns at once. What [Serve] does around an author's code is then not done: the
// provider gets requests as they come, with a context that does not end.
func ServeProvider(p abi.Provider) {
	if !reactor {
		print(rawUsage)
		return
	}
	bindings.Serve(p)
}
