package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host"
)

func TestNothingIsThereUnlessGranted(t *testing.T) {
	t.Setenv("HUSK_TEST_SECRET", "secret")
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{})
	require.Empty(t, mustDo(t, p, "env").answer)
	require.Contains(t, failure(t, p, "read", "/etc/passwd").Message, "Capabilities insufficient")
	require.Contains(t, failure(t, p, "write", "f", "x").Message, "Capabilities insufficient")
	e := failure(t, p, "mode", "/etc/passwd")
	require.Equal(t, abi.ErrorKindDenied, e.Kind)
	require.Contains(t, e.Message, "/etc/passwd is not inside a granted directory; granted: none; add the directory to the provider's grants: fs")
}

func TestGrantedVariables(t *testing.T) {
	t.Setenv("HUSK_TEST_REGION", "eu")
	t.Setenv("HUSK_TEST_SECRET", "secret")
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{
		Grants: host.Grants{Env: []string{"HUSK_TEST_REGION", "HUSK_TEST_UNSET"}},
	})
	require.Equal(t, "HUSK_TEST_REGION=eu", mustDo(t, p, "env").answer)
}

func TestGrantedDirectories(t *testing.T) {
	project := t.TempDir()
	data := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(data, "f"), []byte("data"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(project, "out"), 0o700))
	out, err := host.ProjectGrant(project, "out", true)
	require.NoError(t, err)
	require.Equal(t, "/project/out", out.GuestPath)
	absolute, err := host.ProjectGrant(project, data, false)
	require.NoError(t, err)
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{Grants: host.Grants{FS: []host.FSGrant{out, absolute}}})

	mustDo(t, p, "write", "out/f", "hello")
	require.Equal(t, "hello", mustDo(t, p, "read", "out/f").answer)
	require.FileExists(t, filepath.Join(project, "out", "f"))
	require.Equal(t, "data", mustDo(t, p, "read", filepath.Join(data, "f")).answer)
	require.Contains(t, failure(t, p, "write", filepath.Join(data, "f"), "x").Message, "Read-only file system")

	mustDo(t, p, "setmode", "out/f", "0640")
	require.Equal(t, "-rw-r-----", mustDo(t, p, "mode", "out/f").answer)
	for path, kind := range map[string]abi.ErrorKind{
		"out/none":               abi.ErrorKindNotFound,
		"out/../../secret":       abi.ErrorKindDenied,
		filepath.Join(data, "f"): abi.ErrorKindDenied,
	} {
		e := failure(t, p, "setmode", path, "0600")
		require.Equal(t, kind, e.Kind, path)
	}

	missing, err := host.ProjectGrant(project, "none", false)
	require.NoError(t, err)
	_, err = p.Module().NewProvider(t.Context(), host.ProviderOptions{Name: "probe", Grants: host.Grants{FS: []host.FSGrant{missing}}})
	require.EqualError(t, err, "granting to the provider probe: opening the granted directory \""+
		filepath.Join(project, "none")+"\": no such file or directory")
	_, err = p.Module().NewProvider(t.Context(), host.ProviderOptions{Grants: host.Grants{Env: []string{"A=B"}}})
	require.ErrorContains(t, err, "not the name of an environment variable")
}

func TestProjectGrantsKeepTheProgramsPaths(t *testing.T) {
	for dir, want := range map[string]string{
		".": "/project", "out/site": "/project/out/site", "../shared": "/shared", "/srv/www/": "/srv/www",
	} {
		grant, err := host.ProjectGrant("/home/me/work", dir, false)
		require.NoError(t, err)
		require.Equal(t, want, grant.GuestPath, dir)
	}
}

func TestOutputBecomesLogRecords(t *testing.T) {
	logged := &records{}
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{Logger: logged.logger()})
	mustDo(t, p, "print", "one\n\x1b]0;title\atwo", "1")
	mustDo(t, p, "printerr", "careful\nlast")
	mustDo(t, p, "log", "forged\r\nlevel=ERROR \u202emsg=evil")
	require.Equal(t, []string{
		`level=INFO msg=one provider=probe method=invoke stream=stdout`,
		`level=INFO msg=\x1b]0;title\atwo provider=probe method=invoke stream=stdout`,
		`level=INFO msg=careful provider=probe method=invoke stream=stderr`,
		`level=INFO msg=last provider=probe method=invoke stream=stderr`,
		`level=DEBUG msg="forged\nlevel=ERROR \\u202emsg=evil" provider=probe method=invoke`,
		`level=INFO msg="forged\nlevel=ERROR \\u202emsg=evil" provider=probe method=invoke`,
		`level=WARN msg="forged\nlevel=ERROR \\u202emsg=evil" provider=probe method=invoke`,
		`level=ERROR msg="forged\nlevel=ERROR \\u202emsg=evil" provider=probe method=invoke`,
		`level=INFO msg="forged\nlevel=ERROR \\u202emsg=evil" provider=probe method=invoke ephemeral=true`,
	}, logged.lines())
}
