package provider_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	abigrant "github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/examples/internal/hosttest"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// grant is a directory of the project that the provider may use.
type grant struct {
	dir       string
	readWrite bool
}

// inProject tests a module in a new project, which is the working directory, too.
func inProject(t *testing.T, module *host.Module, grants ...grant) *pt.Provider {
	t.Helper()
	project := filepath.Join(t.TempDir(), "project")
	require.NoError(t, os.Mkdir(project, 0o755))
	t.Chdir(project)
	options := host.ProviderOptions{Name: "local"}
	for _, g := range grants {
		if !g.readWrite {
			require.NoError(t, os.MkdirAll(g.dir, 0o755))
		}
		fs, err := abigrant.InProject(project, g.dir, g.readWrite)
		require.NoError(t, err)
		options.Grants.FS = append(options.Grants.FS, fs)
	}
	return hosttest.New(t, module, options)
}

func TestModule(t *testing.T) {
	module := testmodule.Load(t, "..", host.NewConfig())
	out := grant{"out", true}

	t.Run("writes, reads, and deletes where it may", func(t *testing.T) {
		p := inProject(t, module, out)
		dir := p.Create(directory, pt.Object{"path": "out/site", "directoryPermission": "0750"})
		inputs := pt.Object{"path": "out/site/key", "sensitiveContent": "hunter2", "filePermission": "0600"}
		r := p.Create(file, inputs)
		require.Equal(t, "hunter2", content(t, "out/site/key"))
		require.Equal(t, fs.FileMode(0o600), mode(t, "out/site/key"))
		require.Equal(t, fs.ModeDir|0o750, mode(t, "out/site"))
		require.Equal(t, []string{"out", "out/site", "out/site/key"}, names(t))

		inputs["filePermission"] = "0640"
		require.Equal(t, []string{"filePermission update"}, p.Diff(r, inputs))
		r = p.Update(r, inputs)
		require.Equal(t, fs.FileMode(0o640), mode(t, "out/site/key"))
		require.Equal(t, property.String("hunter2"), p.Invoke(getFile, pt.Object{"path": "out/site/key"}).Get("content"))

		require.NoError(t, os.WriteFile("out/site/key", []byte("hunter3"), 0))
		require.NoError(t, os.Chmod("out/site/key", 0o666))
		refreshed, exists := p.Refresh(r)
		require.True(t, exists)
		require.Equal(t, []string{"filePermission update", "sensitiveContent update"}, p.Diff(refreshed, inputs))

		require.ErrorContains(t, p.TryDelete(dir), "path: out/site is not empty: it holds key; move that away")
		p.Delete(r)
		p.Delete(dir)
		require.Equal(t, []string{"out"}, names(t))
	})

	t.Run("makes and removes the directory that it was granted", func(t *testing.T) {
		p := inProject(t, module, out)
		dir := p.Create(directory, pt.Object{"path": "out"})
		require.Equal(t, fs.ModeDir|0o755, mode(t, "out"))
		p.Delete(dir)
		require.Empty(t, names(t))
	})

	t.Run("deletes with force", func(t *testing.T) {
		p := inProject(t, module, out)
		dir := p.Create(directory, pt.Object{"path": "out/a", "force": true})
		require.NoError(t, os.MkdirAll("out/a/b/c", 0o755))
		require.NoError(t, os.WriteFile("precious", nil, 0o644))
		require.NoError(t, os.Symlink("../../precious", "out/a/b/link"))
		p.Delete(dir)
		require.Equal(t, []string{"out", "precious"}, names(t))
	})

	t.Run("says what to grant", func(t *testing.T) {
		const add = "\n| to grant it, add to this provider's grants, in the project file or with --grant:\n|   fs:\n|     - path: "
		for _, test := range []struct {
			path    string
			message string
		}{
			{"etc/f", "etc/f is not inside a granted directory; granted: out (read-write); add the directory to the provider's grants: fs" + add + "etc\n|       mode: rw"},
			{"f", "f is not inside a granted directory; granted: out (read-write); add the directory to the provider's grants: fs" + add + ".\n|       mode: rw"},
			{"/etc/passwd", "/etc/passwd is not inside a granted directory; granted: out (read-write); add the directory to the provider's grants: fs" + add + "/etc\n|       mode: rw"},
			{"out/../../secret", "../secret is not inside a granted directory; granted: out (read-write); add the directory to the provider's grants: fs" + add + "..\n|       mode: rw"},
			{"out-side/f", "out-side/f is not inside a granted directory; granted: out (read-write); add the directory to the provider's grants: fs" + add + "out-side\n|       mode: rw"},
		} {
			p := inProject(t, module, out)
			_, err := p.TryCreate(file, pt.Object{"path": test.path, "content": "x"})
			denied(t, err, "create", test.message)
			_, err = p.TryPreview(file, pt.Object{"path": test.path, "content": "x"})
			denied(t, err, "create", test.message)
			_, err = p.TryInvoke(getFile, pt.Object{"path": test.path})
			denied(t, err, "invoke", strings.TrimSuffix(test.message, "rw")+"ro")
			_, err = p.TryCreate(directory, pt.Object{"path": test.path})
			require.ErrorIs(t, err, abi.ErrDenied)
			require.Empty(t, names(t))
		}
	})

	t.Run("says that nothing is granted", func(t *testing.T) {
		_, err := inProject(t, module).TryCreate(file, pt.Object{"path": "out/f", "content": "x"})
		require.ErrorIs(t, err, abi.ErrDenied)
		require.ErrorContains(t, err, "out/f is not inside a granted directory; granted: none; ")
		require.ErrorContains(t, err, "- path: out\n|       mode: rw")
	})

	t.Run("does not leave through symbolic links", func(t *testing.T) {
		p := inProject(t, module, out)
		require.NoError(t, os.Mkdir("out", 0o755))
		require.NoError(t, os.Mkdir("outside", 0o755))
		require.NoError(t, os.WriteFile("outside/f", []byte("secret"), 0o600))
		require.NoError(t, os.Symlink("../outside", "out/link"))
		require.NoError(t, os.Symlink("../outside/f", "out/f"))
		before := names(t)

		const link = "\n| out/link is a symbolic link that leads out of the granted directory; use the path that it leads to, and grant that"
		for _, path := range []string{"out/link/f", "out/link/g"} {
			_, err := p.TryCreate(file, pt.Object{"path": path, "content": "x"})
			require.ErrorIs(t, err, abi.ErrDenied)
			require.ErrorContains(t, err, path+" is not inside a granted directory; granted: out (read-write)")
			require.ErrorContains(t, err, link)
			_, err = p.TryInvoke(getFile, pt.Object{"path": path})
			require.ErrorIs(t, err, abi.ErrDenied)
		}
		_, err := p.TryCreate(directory, pt.Object{"path": "out/link/sub"})
		require.ErrorIs(t, err, abi.ErrDenied)
		_, err = p.TryImport(file, "out/f")
		require.ErrorIs(t, err, abi.ErrDenied)
		_, err = p.TryInvoke(getFile, pt.Object{"path": "out/f"})
		require.ErrorIs(t, err, abi.ErrDenied)
		require.Equal(t, before, names(t))
		require.Equal(t, "secret", content(t, "outside/f"))

		p.Delete(p.Create(file, pt.Object{"path": "out/f", "content": "x"}))
		require.Equal(t, "secret", content(t, "outside/f"), "the link was replaced, and what it led to is as it was")
	})

	t.Run("changes nothing in what is granted read-only", func(t *testing.T) {
		p := inProject(t, module, grant{"in", false}, out)
		require.NoError(t, os.WriteFile("in/f", []byte("given"), 0o644))
		require.Equal(t, property.String("given"), p.Invoke(getFile, pt.Object{"path": "in/f"}).Get("content"))
		message := " is in a directory that is granted read-only; granted: in (read-only), out (read-write); "
		for path, inputs := range map[string]pt.Object{"in/f": {"content": "x"}, "in/g": {"content": "x"}, "in/sub/g": {"content": "x"}} {
			_, err := p.TryCreate(file, pt.With(inputs, pt.Object{"path": path}))
			require.ErrorIs(t, err, abi.ErrDenied)
			require.ErrorContains(t, err, message)
			require.ErrorContains(t, err, "mode: rw")
		}
		_, err := p.TryPreview(file, pt.Object{"path": "in/g", "content": "x"})
		require.ErrorContains(t, err, "in/g"+message)
		imported, err := p.TryImport(file, "in/f")
		require.NoError(t, err)
		require.ErrorContains(t, p.TryDelete(imported), "in/f"+message)
		_, err = p.TryCreate(directory, pt.Object{"path": "in"})
		require.ErrorContains(t, err, "in"+message)
		require.Equal(t, "given", content(t, "in/f"))
	})

	t.Run("says that the disk is full and keeps what was there", func(t *testing.T) { testFullDisk(t, module) })

	t.Run("takes the largest content that it allows", func(t *testing.T) {
		p := inProject(t, module, out)
		text := strings.Repeat("x", 8<<20)
		inputs := pt.Object{"path": "out/f", "content": text}
		r := p.Create(file, inputs)
		require.Equal(t, sha256Of(text), r.Text("contentSha256"))
		refreshed, _ := p.Refresh(r)
		require.Empty(t, p.Diff(refreshed, inputs))
		require.Len(t, p.Failures(file, pt.Object{"path": "out/f", "content": text + "x"}), 1)
	})
}

// denied requires that an error is a refusal with that message.
func denied(t *testing.T, err error, method, message string) {
	t.Helper()
	e, ok := errors.AsType[*abi.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, abi.ErrorKindDenied, e.Kind)
	require.Equal(t, "local 0.1.0: "+method+": path: "+message, e.Error())
}
