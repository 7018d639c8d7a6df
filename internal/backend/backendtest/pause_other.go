//go:build !unix

package backendtest

import (
	"errors"
	"os"
)

func stop(*os.Process) error { return errors.ErrUnsupported }

func goOn(*os.Process) error { return errors.ErrUnsupported }
