//go:build !linux

package provider_test

import (
	"testing"

	"github.com/husk-dev/husk/host"
)

func testFullDisk(t *testing.T, _ *host.Module) { t.Skip("needs a small file system") }
