//go:build !wasip1

package guest

import (
	"errors"
	"reflect"
)

// checkMethods finds methods that have the name of an optional interface's but do not
// fit it, which would otherwise be passed over in silence.
func checkMethods(creator any, can capabilities) error {
	t := reflect.TypeOf(creator)
	for _, optional := range []struct {
		method, role string
		fits         bool
	}{
		{"Read", "Reader", can.reads}, {"Update", "Updater", can.updates}, {"Delete", "Deleter", can.deletes},
		{"Check", "Checker", can.checks}, {"Diff", "Differ", can.diffs}, {"Preview", "Previewer", can.previews},
		{"List", "Lister", can.lists},
	} {
		if _, has := t.MethodByName(optional.method); has && !optional.fits {
			return errors.New("the method " + optional.method + " of " + t.String() + " does not have the types that guest." +
				optional.role + " asks for; inputs and state must be those of its Create")
		}
	}
	return nil
}
