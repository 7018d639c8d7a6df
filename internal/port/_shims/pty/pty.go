// Package pty has no terminal to open.
package pty

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ErrUnsupported says that there are no terminals.
var ErrUnsupported = errors.New("unsupported")

// Winsize is the size of a terminal.
type Winsize struct{ Rows, Cols, X, Y uint16 }

func Open() (pty, tty *os.File, err error)                { return nil, nil, ErrUnsupported }
func Start(*exec.Cmd) (*os.File, error)                   { return nil, ErrUnsupported }
func StartWithSize(*exec.Cmd, *Winsize) (*os.File, error) { return nil, ErrUnsupported }
func InheritSize(pty, tty *os.File) error                 { return ErrUnsupported }
func Setsize(*os.File, *Winsize) error                    { return ErrUnsupported }
func GetsizeFull(*os.File) (*Winsize, error)              { return nil, ErrUnsupported }
func Getsize(*os.File) (rows, cols int, err error)        { return 0, 0, ErrUnsupported }
func StartWithAttrs(*exec.Cmd, *Winsize, *syscall.SysProcAttr) (*os.File, error) {
	return nil, ErrUnsupported
}
