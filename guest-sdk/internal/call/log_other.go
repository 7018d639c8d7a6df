//go:build !wasip1

package call

import "github.com/husk-dev/husk/abi"

// hostLog is nil: in a program the only log is the one of [WithLog].
func hostLog() abi.Log { return nil }
