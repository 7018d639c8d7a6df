package display

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
	"github.com/husk-dev/husk/internal/base/printable"
)

// Output is the destination of a command's output, such as standard output. Its Write, for people, hides known secrets and
// defuses commands to services that read the output. It is safe for concurrent use.
type Output struct {
	out     io.Writer
	secrets *redact.Secrets

	mu sync.Mutex
	// colour is when there are colours: see SetColour.
	colour string
	// begun is set within a line, after its first character other than white space.
	begun bool
	// written is set after anything was written.
	written bool
	// gone is set after the reader of the output went away, and onGone is called then.
	gone   bool
	onGone func()
	// above clears the live lines before a text is written, and returns a function that draws them after it. It is nil without live
	// lines. See [Waiting].
	above func(text []byte) (done func())
}

// NewOutput returns an output to a writer. Secrets may be learned later.
func NewOutput(out io.Writer, secrets *redact.Secrets) *Output {
	return &Output{out: out, secrets: secrets, onGone: func() {}}
}

// Write writes text for people. A secret is found where it is within one call of Write.
func (o *Output) Write(text []byte) (int, error) {
	defer o.makeRoom(text)()
	return o.write(text)
}

// makeRoom calls above.
func (o *Output) makeRoom(text []byte) (done func()) {
	o.mu.Lock()
	above := o.above
	o.mu.Unlock()
	if above == nil {
		return func() {}
	}
	return above(text)
}

func (o *Output) setAbove(above func(text []byte) (done func())) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.above = above
}

func (o *Output) write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.written = true
	var defused string
	defused, o.begun = defuse(o.secrets.In(string(text)), o.begun)
	if _, err := io.WriteString(o.out, defused); err != nil {
		return 0, o.failed(err)
	}
	return len(text), nil
}

// Written reports whether anything was written.
func (o *Output) Written() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written
}

// WriteData writes a result for programs as it is.
func (o *Output) WriteData(data []byte) error {
	defer o.makeRoom(data)()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.written = true
	_, err := o.out.Write(data)
	return o.failed(err)
}

// failed records that the output was closed.
func (o *Output) failed(err error) error {
	if !isBrokenPipe(err) {
		return err
	}
	if !o.gone {
		o.gone = true
		o.onGone()
	}
	return ErrGone
}

// ErrGone is the error of a write after the reader of the output went away.
var ErrGone = errors.New("the output was closed")

// OnGone sets the function that is called when a write finds that the reader went away, before the write
// returns. The function is called immediately if that is known already.
func (o *Output) OnGone(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.onGone = f; o.gone {
		f()
	}
}

// File returns the file of the output, nil if the output is not a file.
func (o *Output) File() *os.File {
	file, _ := o.out.(*os.File)
	return file
}

// IsTerminal reports whether a person reads the output.
func (o *Output) IsTerminal() bool { return o.File() != nil && IsTerminal(o.File()) }

// IsTerminal reports whether a person reads or writes the file.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Escape makes text safe to show on one line. Line ends, other control characters, and characters that
// reorder text become Go escapes.
func Escape(text string) string { return printable.Escape(text, printable.IsUnsafe) }

// EscapeLines is Escape for text of several lines. Tabs stay, because carets below a line of a file are
// aligned with them.
func EscapeLines(text string) string { return printable.Text(text) }

var anyColour = lazyregexp.Regexp{Syntax: `\x1b\[[0-9;]*m`}

// harmless are the codes that change how text looks and hide none of it: not its background, nor black, conceal, or blinking.
var harmless = lazyregexp.Regexp{Syntax: `^(0|1|2|3|4|22|23|24|3[1-79]|9[0-7])?$`}

// EscapeButColour is [Escape] for a line of another machine, whose colours stay if coloured is set. They end with it.
func EscapeButColour(text string, coloured bool) string {
	var b strings.Builder
	painted := false
	for {
		at := anyColour.Get().FindStringIndex(text)
		if at == nil {
			break
		}
		b.WriteString(Escape(text[:at[0]]))
		code := text[at[0]:at[1]]
		text = text[at[1]:]
		fine := coloured
		for one := range strings.SplitSeq(code[len("\x1b["):len(code)-len("m")], ";") {
			fine = fine && harmless.Get().MatchString(one)
		}
		if fine {
			painted = true
			b.WriteString(code)
		}
	}
	b.WriteString(Escape(text))
	if painted {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

// WithoutColour returns text without the codes that change colours.
func WithoutColour(text string) string { return anyColour.Get().ReplaceAllString(text, "") }

// EscapeJSON makes JSON safe to show. Characters that JSON allows in strings, and that control a terminal,
// reorder text, or are a command to a service, become escapes of JSON.
func EscapeJSON(text []byte) []byte {
	text = defuseJSON(text)
	hidden := func(r rune) bool { return r >= 0x7f && printable.IsUnsafe(r) }
	if bytes.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if hidden(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}
