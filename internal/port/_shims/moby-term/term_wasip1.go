package term

import (
	"errors"
	"io"
	"os"
)

// ErrInvalidState says that the state of the terminal is invalid.
var ErrInvalidState = errors.New("Invalid terminal state")

var errNoTerminal = errors.New("a module has no terminal")

// State is the state of a terminal.
type State struct{}

// Winsize is the size of a terminal.
type Winsize struct{ Height, Width uint16 }

func StdStreams() (stdIn io.ReadCloser, stdOut, stdErr io.Writer) {
	return os.Stdin, os.Stdout, os.Stderr
}

func GetFdInfo(in interface{}) (fd uintptr, isTerminal bool) {
	if file, ok := in.(*os.File); ok {
		fd = file.Fd()
	}
	return fd, false
}

func IsTerminal(uintptr) bool                      { return false }
func GetWinsize(uintptr) (*Winsize, error)         { return nil, errNoTerminal }
func SetWinsize(uintptr, *Winsize) error           { return errNoTerminal }
func RestoreTerminal(uintptr, *State) error        { return errNoTerminal }
func SaveState(uintptr) (*State, error)            { return nil, errNoTerminal }
func DisableEcho(uintptr, *State) error            { return errNoTerminal }
func SetRawTerminal(uintptr) (*State, error)       { return nil, errNoTerminal }
func SetRawTerminalOutput(uintptr) (*State, error) { return nil, nil }
func MakeRaw(uintptr) (*State, error)              { return nil, errNoTerminal }
