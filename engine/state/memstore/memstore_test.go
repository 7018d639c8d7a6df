package memstore_test

import (
	"testing"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/memstore"
	"github.com/husk-dev/husk/engine/state/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) state.Store { return new(memstore.Store) })
}
