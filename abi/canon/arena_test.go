package canon_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/canon/canontest"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
)

// checked is a module whose Check answers the news, with what the host has stored for it.
func checked(t *testing.T, f *fake) abi.CheckResponse {
	text := property.String(strings.Repeat("text ", 20))
	bag := func() property.Map { return property.NewMap(property.Entry{Key: "a", Value: text}) }
	response, err := f.guest.Check(t.Context(), abi.CheckRequest{URN: "urn", Name: "name", Olds: new(bag()), News: bag()})
	require.NoError(t, err)
	require.True(t, response.Inputs.Equal(bag()))
	return response
}

type passing struct{ abi.Unimplemented }

func (passing) Check(_ context.Context, r abi.CheckRequest) (abi.CheckResponse, error) {
	return abi.CheckResponse{Inputs: r.News}, nil
}

func newPassing() *fake {
	return newFake(canontest.Host{}, func(canontest.Host) abi.Provider { return passing{} })
}

// A module that offers an arena gets its parameters there, and bags that are the same
// once.
func TestArena(t *testing.T) {
	f := newPassing()
	f.offer(4096)
	begin := binary.LittleEndian.Uint32(f.memory[f.arena:])
	checked(t, f)
	used := binary.LittleEndian.Uint32(f.memory[f.arena:]) - begin
	require.Equal(t, 2, f.allocated, "the bag and the record that it answered, which are its own")
	require.Less(t, used, uint32(250), "one bag of some 110 bytes, the names, and the record")
	require.Zero(t, f.released)

	checked(t, f)
	require.Greater(t, binary.LittleEndian.Uint32(f.memory[f.arena:]), begin+used, "what it was given is not given again")
}

// Where the arena has no room, or is not where the module says, the module is asked for
// memory, as one without is.
func TestArenaWithoutRoom(t *testing.T) {
	without := newPassing()
	checked(t, without)
	for name, head := range map[string][2]uint32{
		"none":             {1000, 1000},
		"little":           {firstFree, firstFree + 2},
		"it ends first":    {2000, 1000},
		"beyond memory":    {1 << 20, 2 << 20},
		"all":              {math.MaxUint32, math.MaxUint32},
		"to the last":      {math.MaxUint32 - 8, math.MaxUint32},
		"at the address 0": {0, 1 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			f := newPassing()
			f.offer(8)
			binary.LittleEndian.PutUint32(f.memory[f.arena:], head[0])
			binary.LittleEndian.PutUint32(f.memory[f.arena+4:], head[1])
			checked(t, f)
			require.GreaterOrEqual(t, f.allocated, without.allocated-1)
		})
	}
	t.Run("beyond memory itself", func(t *testing.T) {
		f := newPassing()
		f.arena = 1 << 30
		checked(t, f)
		require.Equal(t, without.allocated, f.allocated)
	})
}

// trapping is an instance that traps when it is asked for its arena.
type trapping struct{ *fake }

var errTrap = errors.New("wasm error: unreachable")

func (trapping) Arena(context.Context) (uint32, bool, error) { return 0, false, errTrap }

func TestArenaThatTraps(t *testing.T) {
	g := canon.NewGuest(trapping{&fake{memory: make([]byte, 1<<16)}}, guestcbor.Codec{}, limit)
	_, err := g.Check(t.Context(), abi.CheckRequest{Name: "a name to store"})
	require.ErrorIs(t, err, errTrap)
	require.ErrorIs(t, g.Broken(), errTrap)
}

// An instance that begins with the memory of another one has its arena, and is not asked.
func TestArenaOfAnotherInstance(t *testing.T) {
	f := newPassing()
	f.offer(4096)
	check := func(g *canon.Guest) error {
		_, err := g.Check(t.Context(), abi.CheckRequest{Name: "a name to store"})
		return err
	}
	first := canon.NewGuest(f, guestcbor.Codec{}, limit)
	require.NoError(t, check(first))
	allocated, used := f.allocated, binary.LittleEndian.Uint32(f.memory[f.arena:])

	second := canon.NewGuest(trapping{f}, guestcbor.Codec{}, limit)
	second.BeginWith(first.Arena())
	require.NoError(t, check(second))
	require.Equal(t, 2*allocated, f.allocated)
	require.Greater(t, binary.LittleEndian.Uint32(f.memory[f.arena:]), used)
	require.ErrorIs(t, check(canon.NewGuest(trapping{f}, guestcbor.Codec{}, limit)), errTrap)
}
