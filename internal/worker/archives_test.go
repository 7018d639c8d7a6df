package worker

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Archives are made once, and no more are kept than may be; those that are in use stay.
func TestArchivesAreBounded(t *testing.T) {
	a := &archives{dir: t.TempDir(), bytes: 250, count: 3}
	defer a.close()
	made := map[string]int{}
	take := func(digest string, size int64) *archive {
		t.Helper()
		one, err := a.take(digest, func(w io.Writer) (int64, error) {
			made[digest]++
			_, err := w.Write(make([]byte, size))
			return size, err
		})
		require.NoError(t, err)
		content, err := io.ReadAll(one.read())
		require.NoError(t, err)
		require.Len(t, content, int(size))
		return one
	}
	kept := func() (digests []string) {
		for _, one := range a.all {
			digests = append(digests, one.digest)
		}
		return digests
	}
	for _, digest := range []string{"a", "b", "a"} {
		a.give(take(digest, 100))
	}
	require.Equal(t, map[string]int{"a": 1, "b": 1}, made)
	require.Equal(t, []string{"a", "b"}, kept())
	used := take("b", 100)
	a.give(take("c", 100))
	require.Equal(t, []string{"c", "b"}, kept(), "a was not used for the longest time")
	a.give(take("d", 200))
	require.Equal(t, []string{"d", "b"}, kept(), "b is in use")
	_, err := io.ReadAll(used.read())
	require.NoError(t, err)
	a.give(used)
	require.Equal(t, []string{"d"}, kept())
	a.give(take("e", 300))
	require.Equal(t, []string{"d"}, kept(), "e is larger than all may be")
	for _, digest := range []string{"f", "g", "h", "i"} {
		a.give(take(digest, 1))
	}
	require.Equal(t, []string{"i", "h", "g"}, kept())
	_, err = a.take("j", func(io.Writer) (int64, error) { return 0, errors.New("no room") })
	require.EqualError(t, err, "no room")
	require.Equal(t, []string{"i", "h", "g"}, kept())
	entries, err := os.ReadDir(a.dir)
	require.NoError(t, err)
	require.Empty(t, entries, "nobody else can open them")
}
