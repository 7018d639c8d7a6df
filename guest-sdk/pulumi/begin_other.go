//go:build !wasip1

package pulumi

import (
	"context"

	"github.com/husk-dev/husk/abi/urn"
)

// begin returns the context of a call, and the function that ends it.
func begin(ctx context.Context, _ urn.URN) (context.Context, func()) {
	return context.WithCancel(ctx)
}
