package filestore_test

import (
	"testing"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/engine/state/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) state.Store { return filestore.New(t.TempDir() + "/.husk") })
}
