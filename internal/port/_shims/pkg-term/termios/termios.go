// Package termios has no terminal to control.
package termios

import (
	"errors"
	"os"
)

var errNoTerminal = errors.New("a module has no terminal")

func Pty() (*os.File, *os.File, error)   { return nil, nil, errNoTerminal }
func Ptsname(uintptr) (string, error)    { return "", errNoTerminal }
func Tiocmget(uintptr) (int, error)      { return 0, errNoTerminal }
func Tiocmset(uintptr, int) error        { return errNoTerminal }
func Tiocmbis(uintptr, int) error        { return errNoTerminal }
func Tiocmbic(uintptr, int) error        { return errNoTerminal }
func Tcsendbreak(uintptr, uintptr) error { return errNoTerminal }
func Tcdrain(uintptr) error              { return errNoTerminal }
func Tcflush(uintptr, uintptr) error     { return errNoTerminal }
func Tiocinq(uintptr) (int, error)       { return 0, errNoTerminal }
func Tiocoutq(uintptr) (int, error)      { return 0, errNoTerminal }
