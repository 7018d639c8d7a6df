package peer_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/bench/internal/peer"
	record "github.com/husk-dev/husk/bench/record/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// servesVariable makes the test binary the process of the provider.
const servesVariable = "HUSK_PEER_TEST_SERVES"

func TestMain(m *testing.M) {
	if os.Getenv(servesVariable) == "" {
		os.Exit(m.Run())
	}
	provider, err := guest.New(record.New())
	if err == nil {
		err = peer.Serve(provider, "1.0.0", os.Stdout)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// start returns the provider as a process of its own, and in this one.
func start(t *testing.T) (process, native abi.Provider) {
	t.Helper()
	own, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(servesVariable, "1")
	configuration := abi.ConfigureRequest{Name: "record"}
	p, err := peer.Start(t.Context(), own, configuration)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	native, err = guest.New(record.New())
	require.NoError(t, err)
	require.NoError(t, native.Configure(t.Context(), configuration))
	return p.Provider, native
}

// bag has values of all kinds that benchmarks have.
func bag() property.Map {
	return property.MapOf(map[string]property.Value{
		"null":   property.Null,
		"bool":   property.Bool(true),
		"number": property.Number(1.5),
		"string": property.String("ü"),
		"array":  property.Array(property.String("a"), property.Null),
		"object": property.Object(property.MapOf(map[string]property.Value{"deep": property.Bool(false)})),
	})
}

func inputs(title string) property.Map {
	return property.MapOf(map[string]property.Value{"title": property.String(title), "content": property.Object(bag())})
}

func TestCheckIsThatOfTheNativeProvider(t *testing.T) {
	process, native := start(t)
	for _, kind := range []string{record.RecordType, record.DeclaredType} {
		for name, news := range map[string]property.Map{
			"values of all kinds": inputs("a"),
			"failures":            inputs("a").With("priority", property.Number(10)).With("more", property.Null),
			"the provider's own":  inputs("a").With("priority", property.Number(9)).With("class", property.String("archive")),
		} {
			t.Run(kind+", "+name, func(t *testing.T) {
				olds := inputs("before")
				request := abi.CheckRequest{URN: urn.New("s", "p", "", kind, "n"), Name: "n", Type: kind, Olds: &olds, News: news}
				want, err := native.Check(t.Context(), request)
				require.NoError(t, err)
				got, err := process.Check(t.Context(), request)
				require.NoError(t, err)
				require.Equal(t, want.Failures, got.Failures)
				require.True(t, want.Inputs.Equal(got.Inputs), "want %v\ngot %v", want.Inputs, got.Inputs)
			})
		}
	}
}

func TestDiffIsThatOfTheNativeProvider(t *testing.T) {
	process, native := start(t)
	state := inputs("a").With("priority", property.Number(1)).With("class", property.String("standard"))
	for name, news := range map[string]property.Map{
		"no change":          state,
		"replaced":           state.With("title", property.String("b")),
		"several":            state.With("priority", property.Number(2)).With("content", property.Object(property.Map{})),
		"the provider's own": state.With("title", property.String("A")),
	} {
		t.Run(name, func(t *testing.T) {
			request := abi.DiffRequest{
				URN: urn.New("s", "p", "", record.RecordType, "n"), Name: "n", Type: record.RecordType, ID: "a",
				Olds: state, News: news, OldInputs: state,
			}
			want, err := native.Diff(t.Context(), request)
			require.NoError(t, err)
			slices.SortFunc(want.DetailedDiff, func(a, b abi.PropertyDiff) int { return cmp.Compare(a.Path, b.Path) })
			got, err := process.Diff(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestErrorsKeepTheirKind(t *testing.T) {
	process, _ := start(t)
	const kind = "record:index:Nothing"
	_, err := process.Check(t.Context(), abi.CheckRequest{URN: urn.New("s", "p", "", kind, "n"), Name: "n", Type: kind})
	require.ErrorIs(t, err, abi.ErrNotFound)
	require.ErrorContains(t, err, kind)
}

func TestAProcessThatDoesNotServe(t *testing.T) {
	_, err := peer.Start(t.Context(), "go", abi.ConfigureRequest{})
	require.ErrorContains(t, err, "reading its port")
}
