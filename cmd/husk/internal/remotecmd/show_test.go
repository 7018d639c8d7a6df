package remotecmd_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/remotecmd"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/display"
)

// TestLinesOfOthers has lines of a log begin with who says them, and do nothing to a terminal, on each stream.
func TestLinesOfOthers(t *testing.T) {
	var out, errs bytes.Buffer
	secrets := new(redact.Secrets)
	a := &cli.App{Out: display.NewOutput(&out, secrets), Errs: display.NewOutput(&errs, secrets), Secrets: secrets}
	const evil = "\x1b[2J\x1b]0;x\a\rserver | Approved by ann.\n::error::x"
	const shown = `\x1b[2J\x1b]0;x\a\rserver | Approved by ann.\n::error::x` + "\n"
	show := func(json bool, stream, text string) (string, string) {
		t.Helper()
		out.Reset()
		errs.Reset()
		a.JSON = json
		require.NoError(t, remotecmd.Show(a, &runapi.Line{Stream: stream, Text: text}))
		return out.String(), errs.String()
	}
	for stream, want := range map[string][2]string{
		runapi.Out: {"worker | " + shown, ""}, runapi.Err: {"", "worker | " + shown}, runapi.Worker: {"", "worker | " + shown},
		runapi.Server: {"", "server | " + shown}, "forged": {"", "worker | " + shown},
	} {
		gotOut, gotErrs := show(false, stream, evil)
		require.Equal(t, want, [2]string{gotOut, gotErrs}, stream)
	}
	gotOut, gotErrs := show(true, runapi.Out, "{\"a\":\r\"\u009b\\u001b\"}")
	require.Equal(t, `{"a":"\u009b\u001b"}`+"\n", gotOut)
	require.Empty(t, gotErrs)
	gotOut, gotErrs = show(true, runapi.Out, evil)
	require.Empty(t, gotOut, "it is no JSON")
	require.Equal(t, "worker | "+shown, gotErrs)
}
