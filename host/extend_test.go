package host_test

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
)

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
