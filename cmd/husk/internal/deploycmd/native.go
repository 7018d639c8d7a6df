package deploycmd

import (
	"context"
	"errors"
	"sync"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/build/nativeprovider"
	"github.com/husk-dev/husk/internal/build/nativewire"
	"github.com/husk-dev/husk/internal/plugins"
)

// devNative previews a project with the provider of a directory as a native process.
func (a commands) devNative(ctx context.Context, dir string, f *deployFlags) (err error) {
	for flag, set := range map[string]bool{"audit-log": f.auditLog != "", "learn-grants": f.learned != ""} {
		if set {
			return cli.Usagef("--%s and --native exclude each other: nothing stands between a native provider and the system", flag)
		}
	}
	runner := &nativeprovider.Runner{Dir: dir, Output: a.Errs}
	defer func() { err = errors.Join(err, runner.Close()) }()
	return a.watchFiles(a.watching(ctx, []string{dir}), func(<-chan struct{}) error {
		f.native = &plugins.Native{Dir: dir, Start: sync.OnceValues(func() (*nativewire.Client, error) {
			process, started, err := runner.Run(ctx)
			if err != nil {
				return nil, err
			}
			if started {
				a.Say(nativeWarning, process.PID)
			}
			return process.Client, nil
		})}
		return a.deploy(ctx, devPreview(f), f)
	})
}

// nativeWarning is shown whenever a native provider starts.
const nativeWarning = `
WARNING: NOT SANDBOXED. The provider runs as process %[1]d with all of your rights. Grants and limits are NOT enforced.
To debug it, set breakpoints with
    dlv attach %[1]d
and save a file of the project: each preview uses this process, until the provider changes.
Previews record nothing. husk up runs the module, in its sandbox.
`
