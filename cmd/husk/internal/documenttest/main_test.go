// Package documenttest has the users who do what the documents say, and those who have just come.
package documenttest

import (
	"testing"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
)

func TestMain(m *testing.M) { usertest.Main(m, nil) }
