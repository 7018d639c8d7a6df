package display

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/husk-dev/husk/engine/redact"
)

// Output is a file that a command writes to: standard output, or standard error. All that a command
// tells people goes through its Write, which hides known secrets, and lets nobody give commands to
// the service that runs the command and reads what it writes. It is safe for concurrent use.
type Output struct {
	file    *os.File
	secrets *redact.Secrets

	mu sync.Mutex
	// begun is set within a line, after its first character that is no white space.
	begun bool
	// gone is set once nobody reads any more, and told is called then.
	gone bool
	told func()
}

// NewOutput returns the output to a file. Secrets may be learned later.
func NewOutput(file *os.File, secrets *redact.Secrets) *Output {
	return &Output{file: file, secrets: secrets, told: func() {}}
}

// Write writes text for people. A secret is found where it is within one call of Write.
func (o *Output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var defused string
	defused, o.begun = defuse(o.secrets.In(string(text)), o.begun)
	if _, err := o.file.WriteString(defused); err != nil {
		return 0, o.failed(err)
	}
	return len(text), nil
}

// WriteData writes a result for programs as it is.
func (o *Output) WriteData(data []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := o.file.Write(data)
	return o.failed(err)
}

// failed notes that the output was closed.
func (o *Output) failed(err error) error {
	if !isBrokenPipe(err) {
		return err
	}
	if !o.gone {
		o.gone = true
		o.told()
	}
	return ErrGone
}

// ErrGone says that whoever has read the output does not any more.
var ErrGone = errors.New("the output was closed")

// OnGone has a function called when that turns out, in place of the one before: once, by whoever
// writes, before the write returns. It is called at once where it is known already.
func (o *Output) OnGone(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told = f; o.gone {
		f()
	}
}

// File returns the file, for another program to write to.
func (o *Output) File() *os.File { return o.file }

// IsTerminal reports whether a person reads the output.
func (o *Output) IsTerminal() bool { return IsTerminal(o.file) }

// Style returns the style for the output: colours on a terminal, unless NO_COLOR is set
// (https://no-color.org) or TERM is dumb.
func (o *Output) Style() Style {
	return Style{Colour: o.IsTerminal() && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// IsTerminal reports whether a person reads or writes the file.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// dataOf is an output as a writer of data.
type dataOf struct{ *Output }

func (d dataOf) Write(data []byte) (int, error) { return len(data), d.WriteData(data) }
