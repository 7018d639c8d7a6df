//go:build unix

package yamlprogram

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pipe is read like a file once somebody writes to it. Until then the deployment can be stopped.
func TestFilesThatAreNotWrittenYet(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	run := func(x string) (stop func(), ended chan error) {
		p := loadIn(t, dir, "config: {name: {default: pipe}}\nresources:\n  probe: {type: bare:index:Probe, properties: {value: "+x+"}}\n")
		ctx, cancel := context.WithCancel(t.Context())
		ended = make(chan error)
		go func() { ended <- p.Run(ctx, runContext(), &fakeMonitor{}) }()
		return cancel, ended
	}
	for _, x := range []string{`{fn::readFile: pipe}`, `{fn::readFile: "./${name}"}`} {
		stop, ended := run(x)
		w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // returns when the program has opened the other end
		require.NoError(t, err)
		stop()
		require.ErrorIs(t, <-ended, context.Canceled, x)
		require.NoError(t, w.Close())
	}
}
