//go:build !wasip1

package call

import "github.com/husk-dev/husk/abi"

// hostLog is nil: in a program there is no log but that of [WithLog].
func hostLog() abi.Log { return nil }
