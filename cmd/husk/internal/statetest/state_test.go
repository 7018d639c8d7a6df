// Package statetest has the users who look after stacks and their states, alone or as a team with a server.
package statetest

import (
	"testing"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
)

func TestMain(m *testing.M) { usertest.Main(m, nil) }

func TestScripts(t *testing.T) { usertest.Scripts(t, usertest.Keeper) }

func TestScriptsOfTeams(t *testing.T) { usertest.Scripts(t, usertest.Team) }
