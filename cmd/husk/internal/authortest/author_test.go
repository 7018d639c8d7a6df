// Package authortest has the users who write providers and policies, and those who load modules of each kind.
package authortest

import (
	"testing"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
)

func TestMain(m *testing.M) { usertest.Main(m, nil) }

func TestScripts(t *testing.T) { usertest.Scripts(t, usertest.Author) }

func TestScriptsOfModules(t *testing.T) { usertest.Scripts(t, usertest.Loader) }
