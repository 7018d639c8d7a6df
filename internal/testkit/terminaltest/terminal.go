//go:build linux

// Package terminaltest is a terminal for tests: they look at its output as a person sees it.
package terminaltest

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Terminal is a pseudoterminal with an emulator behind it. Like xterm, it does not wrap lines anew when it is resized.
type Terminal struct {
	// TTY is the file that programs read from and write to.
	TTY    *os.File
	master *os.File

	mu      sync.Mutex
	changed *sync.Cond
	shown   *screen
	gone    bool
}

// New returns a terminal of a size. It sets the environment variables by which programs know terminals, and unsets
// those by which they know that nobody looks.
func New(t testing.TB, columns, rows int) *Terminal {
	t.Helper()
	for name, value := range Environment() {
		t.Setenv(name, value)
	}
	master, tty, err := openPTY()
	require.NoError(t, err)
	x := &Terminal{TTY: tty, master: master, shown: newScreen(columns, rows)}
	x.changed = sync.NewCond(&x.mu)
	require.NoError(t, setSize(tty, columns, rows))
	read := make(chan struct{})
	go func() {
		defer close(read)
		x.read()
	}()
	t.Cleanup(func() {
		_ = tty.Close()
		_ = master.Close()
		<-read
		require.Empty(t, x.shown.unknown, "control sequences that are not emulated")
	})
	return x
}

// Environment has the variables of a program on the terminal.
func Environment() map[string]string {
	return map[string]string{
		"TERM": "xterm-256color", "XTERM_VERSION": "XTerm(379)", "CI": "", "NO_COLOR": "", "CLICOLOR_FORCE": "", "GITHUB_ACTIONS": "",
	}
}

// read shows the output, until nobody can write any more.
func (x *Terminal) read() {
	buffer := make([]byte, 64<<10)
	for {
		n, err := x.master.Read(buffer)
		x.mu.Lock()
		x.shown.write(buffer[:n])
		x.gone = err != nil
		x.changed.Broadcast()
		x.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Screen returns the text on the screen, without spaces at the ends of lines and empty lines at the end.
func (x *Terminal) Screen() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.shown.text()
}

// patience bounds waits, so that a test that goes wrong ends.
const patience = 2 * time.Minute

// Await waits until the screen is as a function wants it, and returns the screen.
func (x *Terminal) Await(t testing.TB, is func(screen string) bool) string {
	t.Helper()
	late := false
	timer := time.AfterFunc(patience, func() {
		x.mu.Lock()
		late = true
		x.changed.Broadcast()
		x.mu.Unlock()
	})
	defer timer.Stop()
	x.mu.Lock()
	defer x.mu.Unlock()
	for !is(x.shown.text()) {
		if late || x.gone {
			t.Fatalf("the screen did not become as awaited:\n%s", x.shown.text())
		}
		x.changed.Wait()
	}
	return x.shown.text()
}

// AwaitText waits until the screen has a text.
func (x *Terminal) AwaitText(t testing.TB, text string) string {
	t.Helper()
	return x.Await(t, func(screen string) bool { return strings.Contains(screen, text) })
}

// Resize changes the size, which programs learn by a signal and by asking.
func (x *Terminal) Resize(t testing.TB, columns, rows int) {
	t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.shown.resize(columns, rows)
	require.NoError(t, setSize(x.TTY, columns, rows))
}

// Type types text.
func (x *Terminal) Type(t testing.TB, text string) {
	t.Helper()
	_, err := x.master.WriteString(text)
	require.NoError(t, err)
}
