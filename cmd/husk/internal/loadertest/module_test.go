// Package loadertest has the users of modules of each kind: what they may do, and how they are loaded.
package loadertest

import (
	"testing"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
)

func TestMain(m *testing.M) { usertest.Main(m, nil) }

func TestScripts(t *testing.T) { usertest.Scripts(t, usertest.Loader) }
