package display

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// onTerminal returns what a person sees after text with terminal commands was
// written. It knows the commands that a screen writes.
func onTerminal(t *testing.T, written string) string {
	t.Helper()
	lines, row := []string{""}, 0
	for len(written) > 0 {
		if command, ok := strings.CutPrefix(written, "\x1b["); ok {
			end := strings.IndexAny(command, "AJhl")
			require.GreaterOrEqual(t, end, 0, "unknown command %q", command)
			switch command[end] {
			case 'A':
				up, err := strconv.Atoi(command[:end])
				require.NoError(t, err)
				row -= up
				require.GreaterOrEqual(t, row, 0, "the cursor is above the first line")
			case 'J':
				lines = append(lines[:row], "")
			}
			written = command[end+1:]
			continue
		}
		switch written[0] {
		case '\r':
		case '\n':
			if row++; row == len(lines) {
				lines = append(lines, "")
			}
		default:
			lines[row] += written[:1]
		}
		written = written[1:]
	}
	return strings.Join(lines, "\n")
}

// Escaped JSON means the same, and has nothing in it that a terminal acts on.
func TestEscapeJSON(t *testing.T) {
	text := "ü \U0001F600 \x1b[2J \u009b31m \x7f \u202e \u2066 \u2028 \" \\"
	plain, err := json.Marshal(text)
	require.NoError(t, err)
	escaped := EscapeJSON(plain)
	require.Equal(t, `"ü 😀 \u001b[2J \u009b31m \u007f \u202e \u2066 \u2028 \" \\"`, string(escaped))
	var back string
	require.NoError(t, json.Unmarshal(escaped, &back))
	require.Equal(t, text, back)
}

func TestEscape(t *testing.T) {
	require.Equal(t, `a\x1b[2J\u009b\r\n\t\u202eb`, Escape("a\x1b[2J\u009b\r\n\t\u202eb"))
	require.Equal(t, "a\tb\nc\\x1b", EscapeLines("a\tb\r\nc\x1b"))
}

// TestEscapeButColour has lines of another machine keep their colours, and nothing else that a terminal obeys.
func TestEscapeButColour(t *testing.T) {
	for given, want := range map[string]string{
		"plain":                                  "plain",
		"\x1b[32m+\x1b[0m  a":                    "\x1b[32m+\x1b[0m  a\x1b[0m",
		"\x1b[1;31mbad":                          "\x1b[1;31mbad\x1b[0m",
		"\x1b[8mhidden\x1b[30;40mblack":          "hiddenblack",
		"\x1b[38;5;0mx":                          "x",
		"\x1b[2J\x1b[H\x1b]0;title\a\x1b]52;c;x": `\x1b[2J\x1b[H\x1b]0;title\a\x1b]52;c;x`,
		"over\rwritten\b\n\u009b2J\u202e":        `over\rwritten\b\n\u009b2J\u202e`,
		"\x1b\x1b[31m[2J":                        "\\x1b\x1b[31m[2J\x1b[0m",
	} {
		require.Equal(t, want, EscapeButColour(given, true))
		require.NotContains(t, EscapeButColour(given, false), "\x1b")
	}
}

// What a reader takes for one character is not torn, and takes the cells that terminals give it.
func TestCells(t *testing.T) {
	for text, want := range map[string]struct {
		cells int
		cut   string // to four cells
	}{
		"name":            {4, "name"},
		"names":           {5, "nam…"},
		"名前":              {4, "名前"},
		"名前を":             {6, "名…"},
		"e\u0301te\u0301": {3, "e\u0301te\u0301"},
		"👩‍👩‍👧":           {2, "👩‍👩‍👧"},
		"a👩‍👩‍👧bcd":       {6, "a👩‍👩‍👧…"},
	} {
		require.Equal(t, want.cells, lineWidth(text), text)
		require.Equal(t, want.cut, cutLine(text, 4), text)
		require.Empty(t, cutLine(text, 0), text)
	}
}

// waitingOn is a display of waits that writes to the returned outputs, which are one terminal if size is not nil.
func waitingOn(written *bytes.Buffer, size func() (int, int)) (w *Waiting, out, errs *Output) {
	out, errs = NewOutput(written, nil), NewOutput(written, nil)
	w = NewWaiting(out, errs)
	w.screen.size = size
	return w, out, errs
}

// What a command waits for is a line whose seconds go on, below whatever is written meanwhile, and is gone at the end.
func TestWaitingOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written bytes.Buffer
		w, out, errs := waitingOn(&written, func() (int, int) { return 80, 24 })
		sees := func(want string) {
			t.Helper()
			synctest.Wait()
			require.Equal(t, want, onTerminal(t, written.String()))
		}
		pass := func(d time.Duration) { time.Sleep(d + time.Millisecond) }
		w.Begin("compiling random", time.Now().Add(-500*time.Millisecond))
		sees("compiling random… 0.5s\n")
		pass(3 * time.Second)
		sees("compiling random… 3.5s\n")
		w.Transferred("fetching oci://x/y", 1_000_000, 4_000_000)
		pass(time.Second)
		sees("compiling random… 4.5s\n")
		_, _ = out.Write([]byte("a result\n"))
		_, _ = errs.Write([]byte("a message\n"))
		w.Transferred("fetching oci://x/y", 1_500_000, 4_000_000)
		w.Transferred("fetching https://x/y", 2_500_000, 0)
		pass(2100 * time.Millisecond)
		sees("a result\na message\ncompiling random… 6.6s\nfetching oci://x/y… 37 % of 4.0 MB, 3.1s\nfetching https://x/y… 2.5 MB, 2.1s\n")
		w.End("fetching oci://x/y", false)
		w.End("fetching https://x/y", false)
		_, _ = errs.Write([]byte("Sure? "))
		pass(time.Second)
		sees("a result\na message\nSure? ")
		_, _ = errs.Write([]byte("yes\n"))
		sees("a result\na message\nSure? yes\ncompiling random… 7.6s\n")
		w.End("compiling random", false)
		pass(time.Second)
		sees("a result\na message\nSure? yes\n")
	})
}

// Without a terminal there is a line at the beginning, one in a while, and one at the end. What is quick has none.
func TestWaitingWithoutATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written bytes.Buffer
		w, _, _ := waitingOn(&written, nil)
		w.Transferred("sending to oci://quick", 1, 2)
		time.Sleep(time.Second)
		w.End("sending to oci://quick", false)
		w.Transferred("sending to oci://slow", 1_000_000, 4_000_000)
		time.Sleep(13 * time.Second)
		w.End("sending to oci://slow", false)
		w.Begin("building lab", time.Now())
		time.Sleep(5 * time.Second)
		w.End("building lab", true)
		w.Begin("checking lab", time.Now())
		w.End("checking lab", false)
		time.Sleep(time.Second)
		require.Equal(t, "sending to oci://slow…\nsending to oci://slow… 25 % of 4.0 MB, 12s\nsending to oci://slow took 13s\nbuilding lab…\nchecking lab…\n", written.String())
	})
}
