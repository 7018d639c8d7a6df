package listdiff

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shown compares two words letter by letter.
func shown(old, new string) string {
	var b strings.Builder
	for _, e := range Compare(len(old), len(new), func(i, j int) bool { return old[i] == new[j] }) {
		switch e.Kind {
		case Kept:
			fmt.Fprintf(&b, "%c", new[e.New])
		case Moved:
			fmt.Fprintf(&b, "(%d>%c)", e.Old, new[e.New])
		case Changed:
			fmt.Fprintf(&b, "[%c%c]", old[e.Old], new[e.New])
		case Added:
			fmt.Fprintf(&b, "+%c", new[e.New])
		case Deleted:
			fmt.Fprintf(&b, "-%c", old[e.Old])
		}
	}
	return b.String()
}

func TestCompare(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"abc", "abc", "abc"},
		{"abc", "xabc", "+xabc"},
		{"abc", "bc", "-abc"},
		{"abc", "axc", "a[bx]c"},
		{"abc", "bca", "bc(0>a)"},
		{"abc", "cab", "(2>c)ab"},
		{"abcd", "axyd", "a[bx][cy]d"},
		{"abcd", "axd", "a[bx]-cd"},
		{"ad", "axyd", "a+x+yd"},
		{"aab", "aba", "ab(1>a)"},
		{"abc", "", "-a-b-c"},
	} {
		require.Equal(t, c.want, shown(c.old, c.new), "%s to %s", c.old, c.new)
	}
}

// Whatever the lists, each element of each is there once, in the order of the new list.
func TestCompareHasEachElementOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		letters := make([]byte, random.IntN(12))
		for i := range letters {
			letters[i] = 'a' + byte(random.IntN(5))
		}
		return string(letters)
	}
	for range 5000 {
		old, new := word(), word()
		var olds, news []int
		for _, e := range Compare(len(old), len(new), func(i, j int) bool { return old[i] == new[j] }) {
			if e.Old >= 0 {
				olds = append(olds, e.Old)
			}
			if e.New >= 0 {
				news = append(news, e.New)
			}
			if e.Kind == Kept || e.Kind == Moved {
				require.Equal(t, old[e.Old], new[e.New])
			}
		}
		require.True(t, slices.IsSorted(news), "%s to %s", old, new)
		require.Len(t, news, len(new))
		slices.Sort(olds)
		require.Equal(t, len(old), len(slices.Compact(olds)), "%s to %s", old, new)
	}
}

func TestLongListsAreComparedByIndex(t *testing.T) {
	old, new := strings.Repeat("a", 2000), strings.Repeat("b", 1500)
	require.Equal(t, strings.Repeat("[ab]", 1500)+strings.Repeat("-a", 500), shown(old, new))
	require.Equal(t, strings.Repeat("[ba]", 1500)+strings.Repeat("+a", 500), shown(new, old))
	old = "x" + strings.Repeat("ay", 1000)
	require.Contains(t, shown(old, "z"+strings.Repeat("ac", 1000)), "[xz]a[yc]a[yc]")
}
