// Package porttest has the users who port providers of Pulumi and Terraform, which takes large builds.
package porttest

import (
	"testing"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
)

func TestMain(m *testing.M) { usertest.Main(m, nil) }

func TestScripts(t *testing.T) { usertest.Scripts(t, usertest.Porter) }
