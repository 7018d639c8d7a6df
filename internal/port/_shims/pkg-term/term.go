// Package term has no terminal to control.
package term

import "errors"

const (
	NONE = iota
	XONXOFF
	HARDWARE
)

var errNoTerminal = errors.New("a module has no terminal")

// Term is never made.
type Term struct{}

func Open(string, ...func(*Term) error) (*Term, error) { return nil, errNoTerminal }

func failing(*Term) error { return errNoTerminal }

func CBreakMode(t *Term) error          { return failing(t) }
func RawMode(t *Term) error             { return failing(t) }
func Speed(int) func(*Term) error       { return failing }
func FlowControl(int) func(*Term) error { return failing }

func (t *Term) SetOption(...func(*Term) error) error { return errNoTerminal }
func (t *Term) Read([]byte) (int, error)             { return 0, errNoTerminal }
func (t *Term) Write([]byte) (int, error)            { return 0, errNoTerminal }
func (t *Term) Close() error                         { return errNoTerminal }
func (t *Term) SetCbreak() error                     { return errNoTerminal }
func (t *Term) SetRaw() error                        { return errNoTerminal }
func (t *Term) SetSpeed(int) error                   { return errNoTerminal }
func (t *Term) GetSpeed() (int, error)               { return 0, errNoTerminal }
func (t *Term) Flush() error                         { return errNoTerminal }
func (t *Term) SendBreak() error                     { return errNoTerminal }
func (t *Term) SetDTR(bool) error                    { return errNoTerminal }
func (t *Term) DTR() (bool, error)                   { return false, errNoTerminal }
func (t *Term) SetRTS(bool) error                    { return errNoTerminal }
func (t *Term) RTS() (bool, error)                   { return false, errNoTerminal }
func (t *Term) Restore() error                       { return errNoTerminal }
