package property_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/internal/property/propertytest"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// Guests find the end of what they are sent with a function of their own, which finds the
// same ends and faults.
func TestOpenInGuest(t *testing.T) {
	places := 100
	if testing.Short() {
		places = 10
	}
	for _, m := range propertytest.BenchmarkBags() {
		data, err := guestcbor.Marshal(m)
		require.NoError(t, err)
		step := 1 + len(data)/places
		for n := len(data) % step; n <= len(data); n += step {
			requireOpen(t, newGuest(t), data[:n])
		}
		requireOpen(t, newGuest(t), append(data, 0))
	}
}

func FuzzOpenInGuest(f *testing.F) {
	for _, data := range []string{
		"\xa1\x61a\x82\xf6\xf5", "\x81\xd9\xbd\x75\x82\x61x\xa0", "\x81\x78\x19twenty-five bytes of text",
		"\x9b\xff\xff\xff\xff\xff\xff\xff\xff", "\x81\x7b\xff\xff\xff\xff\xff\xff\xff\xff", "\x82\xf8\xff\x9f", "\x81\xfb\xff\xf0\x00\x00\x00\x00\x00\x00",
	} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) <= room {
			requireOpen(t, newGuest(t), data)
		}
	})
}

func requireOpen(t *testing.T, g *guest, data []byte) {
	want := 0
	_, err := guestcbor.OpenTrustedValue(data)
	if refused := (*property.DecodeError)(nil); errors.As(err, &refused) {
		want = int(refused.Fault)
	}
	require.LessOrEqual(t, len(data), room)
	at := g.end - uint32(len(data))
	require.True(t, g.memory.Write(at, data))
	require.Equal(t, want, int(g.call(t, "open", uint64(at), uint64(len(data)))), "%x", data)
}

// guest is an instance of testdata/guest, and end the end of its memory, of which the last
// part is not its own.
type guest struct {
	module api.Module
	memory api.Memory
	end    uint32
}

const (
	// pageSize is that of WebAssembly's memory, in bytes.
	pageSize = 1 << 16
	// room is how much of a guest's memory is there for what it is given, in bytes.
	room = 4 * pageSize
)

func (g *guest) call(t *testing.T, function string, args ...uint64) int32 {
	answer, err := g.module.ExportedFunction(function).Call(context.Background(), args...)
	require.NoError(t, err)
	require.Equal(t, g.end, g.memory.Size(), "the guest takes the memory in which the tests write")
	return int32(answer[0])
}

func newGuest(t *testing.T) *guest {
	wasm := testmodule.Build(t, "testdata/guest")
	guestOnce.Do(func() { theGuest, guestErr = startGuest(wasm) })
	require.NoError(t, guestErr)
	return theGuest
}

// theGuest is the instance of all tests.
var (
	guestOnce sync.Once
	theGuest  *guest
	guestErr  error
)

func startGuest(wasm []byte) (*guest, error) {
	ctx := context.Background()
	runtime := wazero.NewRuntime(ctx)
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
		return nil, err
	}
	module, err := runtime.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithStartFunctions("_initialize"))
	if err != nil {
		return nil, err
	}
	module.Memory().Grow(room / pageSize)
	return &guest{module, module.Memory(), module.Memory().Size()}, nil
}
