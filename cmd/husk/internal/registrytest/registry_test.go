// Package registrytest has the users of registries: those who publish providers, and those who install them.
package registrytest

import (
	"testing"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
)

func TestMain(m *testing.M) { usertest.Main(m, nil) }

func TestScripts(t *testing.T) { usertest.Scripts(t, usertest.Publisher) }
