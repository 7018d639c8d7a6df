package host_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
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

func TestConfigurationsShareNothing(t *testing.T) {
	// get-mapping writes into memory, and get-schema answers what is there.
	module := assembly{
		bodies: map[string]code{
			"get-mapping": i32Const(contents) + i32Const(0x6e656573) + "\x36\x02\x00" + returns(answer2),
			"get-schema":  returns(answer),
			"configure":   returns(answer2 + 64),
			"create":      unreachable,
		},
		data: map[uint32]string{
			answer: words(0, contents, 4), answer2: words(0, contents+8, 0, contents+8, 0), answer2 + 64: words(0, 0),
			contents: "none",
		},
	}
	for engine, config := range map[string]host.Config{"compiler": host.NewConfig(), "interpreter": host.NewConfig().WithInterpreter()} {
		t.Run(engine, func(t *testing.T) {
			h := newHost(t, config)
			write := func(p *host.Provider) {
				_, err := p.GetMapping(t.Context(), abi.GetMappingRequest{})
				require.NoError(t, err)
			}
			requireMemory := func(p *host.Provider, want string) {
				t.Helper()
				got, err := schema(t.Context(), p)
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			one, other := assemble(t, h, module), assemble(t, h, module)
			requireMemory(other, "none")
			write(one)
			requireMemory(one, "seen")
			requireMemory(other, "none")
			requireMemory(assemble(t, h, module), "none")

			// Another configuration of the same provider begins anew, and so does what comes
			// after a crash.
			require.NoError(t, one.Configure(t.Context(), abi.ConfigureRequest{Inputs: property.Map{}}))
			require.NoError(t, one.Configure(t.Context(), abi.ConfigureRequest{Inputs: property.Map{}}))
			requireMemory(one, "none")
			write(one)
			_, err := one.Create(t.Context(), abi.CreateRequest{})
			require.ErrorIs(t, err, abi.ErrCrashed)
			requireMemory(one, "none")

			// What was closed leaves nothing to those who come after it.
			write(one)
			require.NoError(t, one.Close())
			requireMemory(assemble(t, h, module), "none")
		})
	}
}

// Extensions come to every instance of a configuration: to those that served before,
// to those that start later, and to those that take the place of one that crashed.
func TestEveryInstanceIsExtended(t *testing.T) {
	dir := t.TempDir()
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{
		Grants: host.Grants{FS: []host.FSGrant{{HostPath: dir, GuestPath: "/meet", ReadWrite: true}}}, Instances: 4,
	})
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{
		Inputs: property.MapOf(map[string]property.Value{"greeting": property.String("hello")}),
	}))
	// meet has that many instances serve the package's function at once.
	meet := func(pkg, place string, number int) map[string]bool {
		require.NoError(t, os.Mkdir(filepath.Join(dir, place), 0o755))
		instances := make([]done, number)
		failures := make([]error, number)
		var calls sync.WaitGroup
		for i := range number {
			calls.Go(func() {
				instances[i], failures[i] = doOf(t.Context(), p, pkg, "meet", "/meet/"+place, strconv.Itoa(i), strconv.Itoa(number))
			})
		}
		calls.Wait()
		met := make(map[string]bool)
		for i := range number {
			require.NoError(t, failures[i])
			met[instances[i].instance] = true
		}
		require.Len(t, met, number)
		return met
	}
	extend := func(parameters abi.Parameters) (abi.ParameterizeResponse, error) {
		return p.Parameterize(t.Context(), abi.ParameterizeRequest{Parameters: parameters, Extension: true})
	}

	before := meet("probe", "one", 3)
	_, err := doOf(t.Context(), p, "more", "greeting")
	require.ErrorContains(t, err, "probe 1.2.3: invoke: ")
	made, err := extend(abi.Parameters{Case: abi.ParametersCaseArgs, Args: []string{"more"}})
	require.NoError(t, err)
	require.Equal(t, abi.ParameterizeResponse{Name: "more", Version: "0.1.0", Value: []byte("value")}, made)

	after := meet("more", "two", 4)
	for instance := range before {
		require.True(t, after[instance], "an instance that served before is extended, not replaced")
	}
	_, err = extend(abi.Parameters{Case: abi.ParametersCaseValue, Value: abi.ParameterValue{Name: "most", Version: "2.0.0"}})
	require.NoError(t, err)
	_, err = extend(abi.Parameters{Case: abi.ParametersCaseArgs, Args: []string{"refuse"}})
	require.ErrorContains(t, err, "probe 1.2.3: parameterize: that is no package")

	failure(t, p, "exit", "1")
	for place, pkg := range map[string]string{"three": "probe", "four": "more", "five": "most"} {
		meet(pkg, place, 4)
		greeted, err := doOf(t.Context(), p, pkg, "greeting")
		require.NoError(t, err)
		require.Equal(t, "hello", greeted.answer, "the configuration is that of the provider")
	}
}

// Text of a guest becomes longer as it is made safe, so it is cut before.
func TestTheTextOfAnErrorIsBounded(t *testing.T) {
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{})
	const bytes, most = 1 << 20, 256 << 10
	e := failure(t, p, "fail", strings.Repeat("\x1b", bytes))
	require.Equal(t, strings.Repeat(`\x1b`, most)+"… (and 786432 bytes more)", e.Message)
	short := strings.Repeat("x", most)
	require.Equal(t, short, failure(t, p, "fail", short).Message)
}
