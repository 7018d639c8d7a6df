package image_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host/internal/image"
	"github.com/husk-dev/husk/internal/base/strictcbor"
)

const (
	size  = 4 * image.WasmPage
	limit = 8 * image.WasmPage
)

func made(t *testing.T) *image.Image {
	t.Helper()
	i, err := image.Make(size, func(memory []byte) error {
		copy(memory[5000:], "shared")
		memory[size-1] = 7
		return nil
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, i.Close()) })
	return i
}

func begin(t *testing.T, i *image.Image) (memory []byte, grow func(uint64) []byte) {
	t.Helper()
	m := beginMemory(t, i)
	return m.Reallocate(i.Size()), m.Reallocate
}

func beginMemory(t *testing.T, i *image.Image) image.Memory {
	t.Helper()
	m, err := i.Begin(limit)
	require.NoError(t, err)
	t.Cleanup(m.Free)
	return m
}

// Memories begin with the image, and see nothing of each other.
func TestMemoriesBeginWithTheImage(t *testing.T) {
	i := made(t)
	one, _ := begin(t, i)
	copy(one[5000:], "one's")
	other, _ := begin(t, i)
	require.Equal(t, "shared", string(other[5000:5006]))
	require.EqualValues(t, 7, other[size-1])
	require.Equal(t, "one'sd", string(one[5000:5006]))
	require.NoError(t, i.View(func(content []byte) {
		require.Len(t, content, size)
		require.Equal(t, "shared", string(content[5000:5006]))
	}))
}

// A memory grows to its limit by zeros and keeps what it holds.
func TestMemoriesGrow(t *testing.T) {
	one, grow := begin(t, made(t))
	one[0] = 9
	grown := grow(limit)
	require.Len(t, grown, limit)
	require.EqualValues(t, 9, grown[0])
	require.Equal(t, make([]byte, limit-size), grown[size:])
	require.Nil(t, grow(limit+image.WasmPage))
}

// A derived image is the memory that it was taken of, grown pages and all, at the cost
// of what is different.
func TestDerivedImages(t *testing.T) {
	i := made(t)
	one, grow := begin(t, i)
	copy(one[5000:], "mine")
	one = grow(size + image.WasmPage)
	one[size+1] = 1
	d, err := i.Derive(one)
	require.NoError(t, err)
	require.EqualValues(t, 2*64, d.Own(), "two lines")
	clear(one)
	other, _ := begin(t, d)
	require.Len(t, other, size+image.WasmPage)
	require.Equal(t, "mineed", string(other[5000:5006]))
	require.EqualValues(t, 1, other[size+1])
	require.EqualValues(t, 7, other[size-1])
	require.NoError(t, d.Close())
	require.Equal(t, "mineed", string(other[5000:5006]), "what began with it goes on")
}

// A memory that is restored is as one that begins, and goes on with an image that was
// derived from its own.
func TestMemoriesAreRestored(t *testing.T) {
	i := made(t)
	other, _ := begin(t, i)
	copy(other[5000:], "mine")
	d, err := i.Derive(other)
	require.NoError(t, err)
	m := beginMemory(t, d)
	one := m.Reallocate(limit)
	for n := range one {
		one[n] = 0xff
	}
	if !image.Shared {
		require.ErrorIs(t, m.Restore(), errors.ErrUnsupported)
		return
	}
	requireRestored := func(m image.Memory, i *image.Image, size uint64) {
		require.NoError(t, m.Restore())
		require.NoError(t, i.View(func(content []byte) {
			require.True(t, bytes.Equal(content, m.Reallocate(size)))
		}))
	}
	requireRestored(m, i, size)
	require.Equal(t, make([]byte, limit-size), m.Reallocate(limit)[size:])
	large, err := image.Make(1024*image.PageSize, func(memory []byte) error {
		for n := range memory {
			memory[n] = byte(n / 99)
		}
		return nil
	})
	require.NoError(t, err)
	defer large.Close()
	lm := beginMemory(t, large)
	draw := rand.New(rand.NewPCG(1, 2))
	for _, writes := range []int{0, 1, 5, 100, 3000, 200, 1} {
		memory := lm.Reallocate(large.Size())
		for range writes {
			memory[draw.IntN(len(memory))] ^= 0xff
		}
		requireRestored(lm, large, large.Size())
	}
	require.NoError(t, d.Resume(m, i))
	require.Equal(t, "mineed", string(m.Reallocate(size)[5000:5006]))
	require.Error(t, made(t).Resume(m, i), "it began with another image")
	require.NoError(t, d.Close())
	require.ErrorIs(t, d.Resume(m, i), image.ErrClosed)
}

// A derived image holds lines of 64 bytes, and those beside each other as one.
func TestDerivedImagesAreSmall(t *testing.T) {
	i := made(t)
	one, _ := begin(t, i)
	for n := range 4 {
		one[image.PageSize*(n+1)-1] = 1 // the last line of a page
		one[image.PageSize*(n+1)] = 1   // the first line of the next
		one[image.PageSize*(n+1)+65] = 1
	}
	d, err := i.Derive(one)
	require.NoError(t, err)
	require.EqualValues(t, 4*3*64, d.Own())
	other, _ := begin(t, d)
	require.Equal(t, one, other)
	require.NoError(t, d.Close())
}

func TestImageOfAMemory(t *testing.T) {
	one, _ := begin(t, made(t))
	copy(one[5000:], "mine")
	i, err := image.Of(one)
	require.NoError(t, err)
	clear(one)
	other, _ := begin(t, i)
	require.Equal(t, "mineed", string(other[5000:5006]))
	require.NoError(t, i.Close())
	require.NoError(t, i.Close())
	_, err = i.Begin(limit)
	require.ErrorIs(t, err, image.ErrClosed)
	require.ErrorIs(t, i.View(func([]byte) {}), image.ErrClosed)
}

func TestEmptyImage(t *testing.T) {
	i, err := image.Make(0, func(memory []byte) error { require.Empty(t, memory); return nil })
	require.NoError(t, err)
	one, grow := begin(t, i)
	require.Empty(t, one)
	require.Len(t, grow(image.WasmPage), image.WasmPage)
	require.NoError(t, i.Close())
}

func TestImagesAreEncoded(t *testing.T) {
	var encoded bytes.Buffer
	require.NoError(t, made(t).Encode(&encoded))
	require.Less(t, encoded.Len(), 3*image.PageSize)
	whole := encoded.Bytes()
	i, err := image.Decode(whole, limit)
	require.NoError(t, err)
	one, _ := begin(t, i)
	require.Equal(t, "shared", string(one[5000:5006]))
	require.EqualValues(t, 7, one[size-1])
	require.NoError(t, i.Close())

	_, err = image.Decode(whole, size-1)
	require.ErrorIs(t, err, image.ErrMalformed)
	for _, n := range []int{0, 1, 10, 30, len(whole) - 1} {
		_, err = image.Decode(whole[:n], limit)
		require.ErrorIs(t, err, image.ErrMalformed)
	}
	const page = image.PageSize
	for what, head := range map[string]any{
		"a size that is no page": map[string]any{"Size": size - 1, "Runs": [][2]uint64{}},
		"a field too many":       map[string]any{"Size": size, "Runs": [][2]uint64{}, "More": 1},
		"a run of three numbers": map[string]any{"Size": size, "Runs": [][3]uint64{{0, page, 0}}},
		"a run amid a page":      map[string]any{"Size": size, "Runs": [][2]uint64{{1, page}}},
		"a run without an end":   map[string]any{"Size": size, "Runs": [][2]uint64{{0, 1 << 63}}},
		"runs in another order":  map[string]any{"Size": size, "Runs": [][2]uint64{{page, page}, {0, page}}},
		"runs over one another":  map[string]any{"Size": size, "Runs": [][2]uint64{{0, 2 * page}, {page, page}}},
		"a run without content":  map[string]any{"Size": size, "Runs": [][2]uint64{{0, 4 * page}}},
		"a run behind the end":   map[string]any{"Size": size, "Runs": [][2]uint64{{size, page}}},
	} {
		encoded, err := strictcbor.Marshal(head)
		require.NoError(t, err)
		_, err = image.Decode(append(encoded, make([]byte, 3*page)...), limit)
		require.ErrorIs(t, err, image.ErrMalformed, what)
	}
}
