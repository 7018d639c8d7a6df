package property_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
)

// Guests have functions of their own for texts, which do what those of Go do.
func TestTexts(t *testing.T) {
	texts := []string{"", "a", "b", "ab", "\x00", "\xff", "ä", "日本"}
	step := 1
	if testing.Short() {
		step = 5
	}
	for n := 0; n < 20; n += step { // texts that begin alike, and differ at each place
		same := strings.Repeat("x", n)
		texts = append(texts, same, same+"a", same+"\x80", same+"é", same+"ya234567890")
	}
	for _, n := range []int{31, 32, 39, 64, 71} {
		same := strings.Repeat("x", n)
		texts = append(texts, same, same+"a", same+"é"+same)
	}
	g := newGuest(t)
	for _, a := range texts {
		for _, b := range texts {
			requireTexts(t, g, a, b)
		}
	}
}

// Texts are looked at in large parts, some of which overlap: none of their bytes is left out.
func TestAByteThatIsNoTextIsFound(t *testing.T) {
	for n := range 100 {
		require.True(t, property.ValidText(strings.Repeat("x", n)))
		for at := range n {
			broken := strings.Repeat("x", at) + "\x80" + strings.Repeat("x", n-at-1)
			require.False(t, property.ValidText(broken), "at %d of %d", at, n)
		}
		for at := range n - 1 {
			other := strings.Repeat("x", at) + "é" + strings.Repeat("x", n-at-2)
			require.True(t, property.ValidText(other), "at %d of %d", at, n)
		}
	}
}

func FuzzTexts(f *testing.F) {
	f.Add("", "")
	f.Add("title", "class")
	f.Add("one text of more than thirty-two bytes", "one text of more than thirty-two Bytes")
	f.Add("größer", "gr\xf6\xdfer")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a)+len(b) <= room {
			requireTexts(t, newGuest(t), a, b)
		}
	})
}

// requireTexts holds what the functions say of two texts, here and in a guest, to what
// those of Go say.
func requireTexts(t *testing.T, g *guest, a, b string) {
	list := []property.Entry{{Key: a}, {Key: strings.Clone(b)}}
	index := func(n int) int { return property.IndexText(&list[0].Key, unsafe.Sizeof(list[0]), n, b) }
	places := []int{-1, slices.Index([]string{a}, b), slices.Index([]string{a, b}, b)}
	require.Equal(t, places, []int{index(0), index(1), index(2)}, "%q and %q", a, b)
	entries := property.NewMap(slices.Clone(list)...).Entries()
	sought := make([]int, len(entries)+1)
	for from := range sought {
		at, found := slices.BinarySearchFunc(entries[from:], b, func(e property.Entry, key string) int { return property.CompareKeys(e.Key, key) })
		if sought[from] = from + at; !found {
			sought[from] = -1 - from - at
		}
		require.Equal(t, sought[from], property.SeekKey(entries, from, strings.Clone(b)), "%q and %q", a, b)
	}
	equal, order, valid := a == b, strings.Compare(a, b), utf8.ValidString(a)
	require.Equal(t, equal, property.EqualText(a, strings.Clone(b)), "%q and %q", a, b)
	require.Equal(t, order, cmp.Compare(property.CompareText(a, strings.Clone(b)), 0), "%q and %q", a, b)
	require.Equal(t, valid, property.ValidText(a), "%q", a)

	// Whichever is the last thing in memory, nothing behind it is read.
	for _, at := range [][2]uint32{
		{g.end - uint32(len(a)), g.end - uint32(len(a)+len(b))},
		{g.end - uint32(len(a)+len(b)), g.end - uint32(len(b))},
	} {
		p, q := uint64(at[0]), uint64(at[1])
		require.True(t, g.memory.WriteString(at[0], a) && g.memory.WriteString(at[1], b))
		require.Equal(t, equal, g.call(t, "equal", p, uint64(len(a)), q, uint64(len(b))) == 1, "%q and %q", a, b)
		require.Equal(t, order, cmp.Compare(g.call(t, "compare", p, uint64(len(a)), q, uint64(len(b))), 0), "%q and %q", a, b)
		for n, place := range places {
			require.Equal(t, place, int(g.call(t, "index", p, uint64(len(a)), q, uint64(len(b)), uint64(n))), "%q and %q", a, b)
		}
		for from, place := range sought {
			require.Equal(t, place, int(g.call(t, "seek", p, uint64(len(a)), q, uint64(len(b)), uint64(from))), "%q and %q", a, b)
		}
		require.Equal(t, valid, g.call(t, "valid", p, uint64(len(a))) == 1, "%q", a)
	}
}
