package contacts_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/examples/internal/contactstest"
)

// Properties that are cut off or garbled are an error of their call, which no host makes, and the module goes on.
func TestMalformedProperties(t *testing.T) {
	whole, err := guestcbor.Marshal(property.NewMap(
		property.Entry{Key: "name", Value: property.String("Ann")}, property.Entry{Key: "priority", Value: property.Number(1e300)},
		property.Entry{Key: "tags", Value: property.Array(property.Bool(true), property.Null, property.Secret(property.Number(0.5)))},
		property.Entry{Key: "address", Value: property.Object(property.NewMap(property.Entry{Key: "city", Value: property.Unknown}))},
		property.Entry{Key: "password", Value: property.OutputOf(property.Output{Value: property.String("correct horse"), Secret: true, Dependencies: []string{"urn"}})},
		property.Entry{Key: "asset", Value: property.AssetOf(property.Asset{Source: property.SourceText, Text: "text"})},
	))
	require.NoError(t, err)
	for _, l := range languages {
		t.Run(l, func(t *testing.T) {
			wasm, _, err := open(l)
			require.NoError(t, err)
			m := &rawModule{t, instance(t, wasm)}
			calls := m.calls()
			for name, call := range calls {
				for n := range len(whole) {
					require.Equal(t, "the host sent properties that are no CBOR of the contract", call(whole[:n]), "%s with %d bytes of %d", name, n, len(whole))
				}
				require.NotContains(t, call(whole), "CBOR", name)
				require.Contains(t, call(append(slices.Clone(whole), 0xf6)), "CBOR", name)
			}
			random := rand.New(rand.NewPCG(1, 2))
			for range 3000 {
				garbled := slices.Clone(whole)
				for range 1 + random.IntN(3) {
					garbled[random.IntN(len(garbled))] = byte(random.Uint32())
				}
				calls["list"](garbled)
			}
			for _, head := range []byte{0x81, 0xa1, 0xc6} {
				require.Contains(t, calls["list"](slices.Repeat([]byte{head}, 1<<20)), "CBOR")
			}
			require.Contains(t, calls["list"]([]byte{0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}), "CBOR")
			require.Contains(t, calls["list"]([]byte{0xa1, 0x7b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}), "CBOR")
		})
	}
}

// instance starts a module whose imports do nothing.
func instance(t *testing.T, wasm []byte) api.Module {
	ctx := t.Context()
	runtime := wazero.NewRuntime(ctx)
	t.Cleanup(func() { require.NoError(t, runtime.Close(context.WithoutCancel(ctx))) })
	_, err := wasi_snapshot_preview1.Instantiate(ctx, runtime)
	require.NoError(t, err)
	compiled, err := runtime.CompileModule(ctx, wasm)
	require.NoError(t, err)
	imported := map[string]wazero.HostModuleBuilder{}
	for _, f := range compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		if module == wasi_snapshot_preview1.ModuleName {
			continue
		}
		if imported[module] == nil {
			imported[module] = runtime.NewHostModuleBuilder(module)
		}
		imported[module].NewFunctionBuilder().WithGoFunction(api.GoFunc(func(context.Context, []uint64) {}), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	for _, m := range imported {
		_, err := m.Instantiate(ctx)
		require.NoError(t, err)
	}
	m, err := runtime.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithStartFunctions("_initialize"))
	require.NoError(t, err)
	return m
}

// rawModule calls a module by the canonical ABI.
type rawModule struct {
	t      *testing.T
	module api.Module
}

// calls returns what each place of properties in a call is answered: the message of the error, empty for none.
func (m *rawModule) calls() map[string]func([]byte) string {
	type params = []uint64
	none, empty := []byte{}, []byte{0xa0}
	flat := func(all ...any) (out params) {
		for _, v := range all {
			switch v := v.(type) {
			case []byte:
				out = append(out, m.give(v), uint64(len(v)))
			case int:
				out = append(out, uint64(v))
			}
		}
		return out
	}
	kind, find := []byte(contactstest.Contact), []byte("contacts:index:find")
	update := func(olds, news []byte) params {
		record := make([]byte, 80)
		for i, v := range flat(none, none, kind, none, olds, news, empty, none) {
			binary.LittleEndian.PutUint32(record[4*i:], uint32(v))
		}
		return params{m.give(record)}
	}
	each := map[string]func([]byte) params{
		"configure":   func(data []byte) params { return flat(none, none, none, none, data) },
		"create":      func(data []byte) params { return flat(none, none, kind, data, 0, 0) },
		"read state":  func(data []byte) params { return flat(none, none, kind, none, 1, data, 1, empty, 0) },
		"read inputs": func(data []byte) params { return flat(none, none, kind, none, 1, empty, 1, data, 0) },
		"update olds": func(data []byte) params { return update(data, empty) },
		"update news": func(data []byte) params { return update(empty, data) },
		"delete":      func(data []byte) params { return flat(none, none, kind, none, data, none, 0) },
		"list":        func(data []byte) params { return flat(kind, data, 0, 0, none) },
		"construct": func(data []byte) params {
			record := make([]byte, 256) // of which the options and the context are left out
			for i, v := range flat([]byte(contactstest.Team), none, none, data) {
				binary.LittleEndian.PutUint32(record[4*i:], uint32(v))
			}
			return params{m.give(record)}
		},
		"invoke": func(data []byte) params { return flat(find, data, 0) },
	}
	out := map[string]func([]byte) string{}
	for name, of := range each {
		out[name] = func(data []byte) string { return m.call(name, of(data)) }
	}
	return out
}

func (m *rawModule) give(data []byte) uint64 {
	answer, err := m.module.ExportedFunction("cabi_realloc").Call(m.t.Context(), 0, 0, 8, uint64(len(data)))
	require.NoError(m.t, err)
	require.True(m.t, m.module.Memory().Write(uint32(answer[0]), data))
	return answer[0]
}

func (m *rawModule) call(name string, params []uint64) string {
	function := "husk:provider/provider@0.2.0#" + strings.Fields(name)[0]
	answer, err := m.module.ExportedFunction(function).Call(m.t.Context(), params...)
	require.NoError(m.t, err, "%s traps", name)
	result, ok := m.module.Memory().Read(uint32(answer[0]), 16)
	require.True(m.t, ok)
	message := ""
	if result[0] == 1 {
		text, ok := m.module.Memory().Read(binary.LittleEndian.Uint32(result[8:]), binary.LittleEndian.Uint32(result[12:]))
		require.True(m.t, ok)
		message = string(text)
	}
	_, err = m.module.ExportedFunction("cabi_post_"+function).Call(m.t.Context(), answer...)
	require.NoError(m.t, err)
	return message
}
