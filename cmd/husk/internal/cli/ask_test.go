package cli

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyYesIsYes(t *testing.T) {
	for answer, want := range map[string]error{
		"y\n": nil, "yes\n": nil, " YES \r\n": nil, "yes": nil,
		"n\n": ErrDeclined, "\n": ErrDeclined, "": ErrDeclined, "yep\n": ErrDeclined,
	} {
		in, out, err := os.Pipe()
		require.NoError(t, err)
		_, err = out.WriteString(answer)
		require.NoError(t, err)
		require.NoError(t, out.Close())
		shown, err := os.CreateTemp(t.TempDir(), "")
		require.NoError(t, err)
		a := NewApp(in, shown, shown)
		require.Equal(t, want, a.Ask("Make these changes?", nil), "%q", answer)
		question, err := os.ReadFile(shown.Name())
		require.NoError(t, err)
		require.Equal(t, "Make these changes? [y/N] ", string(question))
	}
	// An interrupt is a no.
	in, out, err := os.Pipe()
	require.NoError(t, err)
	defer out.Close()
	stop := make(chan struct{})
	close(stop)
	a := NewApp(in, out, out)
	require.Equal(t, ErrDeclined, a.Ask("Make these changes?", stop))
}

// Details are shown as often as they are asked for, and then the question comes again.
func TestDetailsOnRequest(t *testing.T) {
	in, out, err := os.Pipe()
	require.NoError(t, err)
	_, err = out.WriteString("d\nDetails\nyes\nno\n")
	require.NoError(t, err)
	require.NoError(t, out.Close())
	shown, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	a := NewApp(in, shown, shown)
	details := func() { a.Say("(details)") }
	require.NoError(t, a.AskWithDetails("Go?", details, nil))
	require.Equal(t, ErrDeclined, a.AskWithDetails("And now?", details, nil))
	text, err := os.ReadFile(shown.Name())
	require.NoError(t, err)
	question := "Go? [yes/No/details] "
	require.Equal(t, question+"(details)\n"+question+"(details)\n"+question+"And now? [yes/No/details] ", string(text))
}
