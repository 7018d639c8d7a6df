// Package e2e_test follows property values on their whole way: from a program
// through the engine and the host into a module, back into the state, out of it as JSON,
// into another stack, and to the module again.
package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/contents"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/property/propertytest"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// echo is the schema of the package that the kit becomes.
const echo = `{"name": "echo", "version": "1.0.0", "resources": {
	"echo:index:Echo": {
		"inputProperties": {"value": {"$ref": "pulumi.json#/Any"}, "left": {"type": "string"}, "stale": {"type": "boolean"}, "differs": {"$ref": "pulumi.json#/Any"}},
		"properties": {"value": {"$ref": "pulumi.json#/Any"}, "left": {"type": "string"}, "stale": {"type": "boolean"}, "differs": {"$ref": "pulumi.json#/Any"}}},
	"echo:index:Mirror": {"isComponent": true,
		"inputProperties": {"mirror": {"type": "string"}, "value": {"type": "string"}, "use": {"type": "boolean"}},
		"properties": {"seen": {"type": "array", "items": {"type": "string"}}, "told": {"type": "object"}}}},
	"functions": {"echo:index:say": {"outputs": {"properties": {"value": {"type": "string"}}}}, "echo:index:Mirror/ask": {"outputs": {"properties": {"value": {"type": "string"}}}}}}`

// The types of the package: a resource, and a component with one of them.
const (
	echoType   = "echo:index:Echo"
	mirrorType = "echo:index:Mirror"
)

// modules loads the kit, whose resources answer what they are given.
type modules struct {
	kit     *host.Module
	options host.ProviderOptions
}

func loadModules(t testing.TB) modules {
	module := testmodule.Load(t, "../../../cmd/husk/testdata/kit", host.NewConfig())
	return modules{module, host.ProviderOptions{Name: "kit"}}
}

// Load implements [engine.Loader].
func (m modules) Load(ctx context.Context, _ engine.PackageSpec) (abi.Provider, error) {
	return m.kit.NewProvider(ctx, m.options)
}

// asEcho makes the kit the echo, and returns the option to use it.
func asEcho(p *enginetest.Run) (func(*abi.ResourceOptions), error) {
	made, err := p.Monitor.RegisterPackage(p.Ctx, abi.RegisterPackageRequest{Name: "kit", Parameters: &abi.Parameters{
		Case: abi.ParametersCaseValue, Value: abi.ParameterValue{Name: "echo", Version: "1.0.0", Value: []byte(echo)},
	}})
	return func(o *abi.ResourceOptions) { o.PackageRef = made.PackageRef }, err
}

// Values of every kind are the same after the way to a module, into the state, out of
// it, into another stack's, and to a module again.
func FuzzValues(f *testing.F) {
	loader := loadModules(f)
	dir := f.TempDir()
	require.NoError(f, os.WriteFile(filepath.Join(dir, "file"), []byte("contents"), 0o600))
	require.NoError(f, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	require.NoError(f, os.WriteFile(filepath.Join(dir, "folder", "file"), []byte("contents"), 0o600))
	source := contents.Source{Dir: dir}
	generated := rapid.SliceOfN(propertytest.Values(3), valuesAtOnce, valuesAtOnce)
	f.Add(hard, true)
	f.Add(hard, false)
	for seed := range 4 {
		f.Add(seed, seed%2 == 0)
	}
	// The seed of values in place of their bytes: the fuzzer would spend its time on
	// making bytes fewer, at some tenths of a second for each attempt.
	f.Fuzz(func(t *testing.T, seed int, plain bool) {
		values := hardValues()
		if seed != hard {
			values = generated.Example(seed)
		}
		cross(t, loader, source, property.Array(values...), plain)
	})
}

const (
	// valuesAtOnce are taken along on a way, which takes much longer than a value does.
	valuesAtOnce = 20
	// hard is the seed of hardValues.
	hard = -1
)

// hardValues are those that codecs are known to lose something of.
func hardValues() []property.Value {
	return []property.Value{
		property.Null,
		property.Array(
			property.Number(math.NaN()), property.Number(math.Inf(1)), property.Number(math.Inf(-1)), property.Number(math.Copysign(0, -1)),
			property.Number(1<<53-1), property.Number(1<<53), property.Number(1<<53+2), property.Number(math.SmallestNonzeroFloat64),
		),
		property.Array(property.String(""), property.String("日本語 😀"), property.String("\x00\u2028<>&"), property.String("\u202e")),
		propertytest.Of(propertytest.Object{"array": propertytest.Array{}, "object": propertytest.Object{}, "null": nil, "": ""}),
		property.Secret(property.Array(property.Secret(property.String("a")), property.Number(math.NaN()))),
		deep(50),
	}
}

func deep(levels int) property.Value {
	v := property.String("the bottom")
	for i := range levels {
		if i%2 == 0 {
			v = property.Array(v)
		} else {
			v = property.Object(property.NewMap(property.Entry{Key: "below", Value: v}))
		}
	}
	return v
}

// cross takes a value the whole way, with secrets in the export in plain or sealed.
func cross(t *testing.T, loader modules, source contents.Source, value property.Value, plain bool) {
	t.Helper()
	edit := func(d *enginetest.Deployment) { d.Providers, d.Contents = loader, source }
	stack := enginetest.NewStack(t, nil)
	stack.Edit = edit
	var given, got property.Value
	program := enginetest.Program(func(p *enginetest.Run) error {
		kit, err := asEcho(p)
		if err != nil {
			return err
		}
		first, err := p.Custom(echoType, "first", enginetest.Props("value", 1), kit)
		if err != nil {
			return err
		}
		given = possible(value, first)
		second, err := p.Custom(echoType, "second", property.NewMap(property.Entry{Key: "value", Value: given}), kit)
		got = second.State.Get("value")
		return err
	})
	require.Equal(t, 3, stack.Up(program).Create)
	want := recorded(t, source, given)
	requireSame(t, want, got, "what the program got")
	require.Equal(t, 3, stack.Up(program).Same, "nothing changed")

	exported, codec := export(t, stack, plain)
	snapshot, _, err := state.Decode(t.Context(), exported, func(context.Context, string, json.RawMessage) (secrets.Provider, error) {
		return codec.Secrets(), nil
	})
	require.NoError(t, err)
	other := enginetest.NewStack(t, nil)
	other.Edit = edit
	st, err := other.Open(t.Context())
	require.NoError(t, err)
	require.NoError(t, errors.Join(st.Replace(t.Context(), snapshot), st.Close(t.Context())))
	require.Zero(t, other.Refresh().Total(), "the module reads what the state has")
	require.Equal(t, 3, other.Up(program).Same, "nothing changed on the way")
	requireSame(t, want, got, "what the program got in another stack")
}

// export is the stack's state as JSON.
func export(t *testing.T, stack *enginetest.Stack, plain bool) ([]byte, *state.Codec) {
	t.Helper()
	st, err := stack.Open(t.Context())
	require.NoError(t, err)
	exported, err := st.Codec().EncodeExport(t.Context(), st.Snapshot(), plain)
	require.NoError(t, errors.Join(err, st.Close(t.Context())))
	return exported, st.Codec()
}

// possible makes a generated value one that a program can have: everything is known,
// files are there, hashes are not said beforehand, and the resource that is depended on
// and referred to is one that exists.
func possible(v property.Value, first enginetest.Resource) property.Value {
	return v.Transform(func(v property.Value) property.Value {
		switch v.Kind() {
		case property.KindUnknown:
			return property.String("known")
		case property.KindAsset, property.KindArchive:
			return fresh(v)
		case property.KindResourceReference:
			r, _ := v.AsReference()
			r.URN, r.ID, r.HasID = string(first.URN), first.ID, true
			return property.Reference(r)
		case property.KindOutput:
			o, _ := v.AsOutput()
			if len(o.Dependencies) > 0 {
				o.Dependencies = []string{string(first.URN)}
			}
			return property.OutputOf(o)
		}
		return v
	})
}

// fresh is an asset or archive as a program makes it.
func fresh(v property.Value) property.Value {
	if a, ok := v.AsAsset(); ok {
		if a.Source == property.SourcePath {
			return property.AssetOf(property.Asset{Source: property.SourcePath, Path: "file"})
		}
		return property.AssetOf(property.Asset{Source: property.SourceText, Text: a.Text + a.URI})
	}
	a, _ := v.AsArchive()
	if a.Source == property.SourcePath {
		return property.ArchiveOf(property.Archive{Source: property.SourcePath, Path: "folder"})
	}
	var entries []property.Entry
	for _, member := range a.Assets.All() {
		// Not every text names a file.
		entries = append(entries, property.Entry{Key: "日本/" + strconv.Itoa(len(entries)), Value: fresh(member)})
	}
	return property.ArchiveOf(property.Archive{Source: property.SourceAssets, Assets: property.NewMap(entries...)})
}

// recorded is what becomes of a value: outputs become what they are of, and assets and
// archives have a hash.
func recorded(t *testing.T, source contents.Source, v property.Value) property.Value {
	var hashed func(v property.Value) property.Value
	hashed = func(v property.Value) property.Value {
		var err error
		if a, ok := v.AsAsset(); ok {
			a.Hash, err = source.HashAsset(t.Context(), a)
			require.NoError(t, err)
			return property.AssetOf(a)
		}
		a, _ := v.AsArchive()
		for name, member := range a.Assets.All() {
			a.Assets = a.Assets.With(name, hashed(member))
		}
		a.Hash, err = source.HashArchive(t.Context(), a)
		require.NoError(t, err)
		return property.ArchiveOf(a)
	}
	return v.Transform(func(v property.Value) property.Value {
		switch v.Kind() {
		case property.KindAsset, property.KindArchive:
			return hashed(v)
		case property.KindOutput:
			o, _ := v.AsOutput()
			if o.Secret {
				return property.Secret(o.Value)
			}
			return o.Value
		}
		return v
	})
}

// requireSame compares encodings, which are exact: of NaN and -0, and of null and absent.
func requireSame(t *testing.T, want, got property.Value, when string) {
	t.Helper()
	wanted, err := guestcbor.MarshalValue(want)
	require.NoError(t, err)
	encoded, err := guestcbor.MarshalValue(got)
	require.NoError(t, err)
	require.Equal(t, wanted, encoded, "%s: %s, and it was to be %s", when, got, want)
}
