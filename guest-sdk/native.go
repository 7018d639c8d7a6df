//go:build !wasip1

package guest

import "github.com/husk-dev/husk/guest-sdk/guest"

var New = guest.New
