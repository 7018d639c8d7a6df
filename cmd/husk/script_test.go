package main_test

import (
	"testing"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
)

func TestMain(m *testing.M) { usertest.Main(m, nil) }

// TestScripts runs the scripts in testdata/script about operators. Those about others are in internal/{author,port,registry,state}test.
func TestScripts(t *testing.T) { usertest.Scripts(t, usertest.Operator) }
