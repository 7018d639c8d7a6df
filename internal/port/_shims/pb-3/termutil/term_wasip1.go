package termutil

import (
	"errors"
	"os"
)

var errNoTerminal = errors.New("a module has no terminal")

var unlockSignals = []os.Signal{}

func lockEcho() error   { return errNoTerminal }
func unlockEcho() error { return nil }

// TerminalWidth fails.
func TerminalWidth() (int, error) { return 0, errNoTerminal }

// TerminalSize fails.
func TerminalSize() (rows, columns int, err error) { return 0, 0, errNoTerminal }
