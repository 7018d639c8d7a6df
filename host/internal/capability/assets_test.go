package capability

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
)

// shelf opens texts by their names, and counts those that are open.
type shelf struct {
	texts map[string]io.Reader
	open  int
}

func (s *shelf) OpenAsset(_ context.Context, hash string, _ abi.AssetsForm) (io.ReadCloser, error) {
	text, ok := s.texts[hash]
	if !ok {
		return nil, abi.NewError(abi.ErrorKindNotFound, "no "+hash)
	}
	s.open++
	return closer{text, s}, nil
}

type closer struct {
	io.Reader
	*shelf
}

func (c closer) Close() error { c.open--; return nil }

type brokenText struct{}

func (brokenText) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestGuestsReadAssetsInParts(t *testing.T) {
	long := strings.Repeat("x", MaxAssetChunk+1)
	s := &shelf{texts: map[string]io.Reader{"long": strings.NewReader(long), "cut": io.MultiReader(strings.NewReader("ab"), brokenText{})}}
	a := &Assets{Opener: s, Ledger: unbounded{}}
	handle, err := a.Open(t.Context(), "long", abi.AssetsFormBlob)
	require.NoError(t, err)
	var got []byte
	for most := uint32(1); ; most = 1 << 30 {
		part, err := a.Read(t.Context(), handle, most)
		require.NoError(t, err)
		require.LessOrEqual(t, len(part), MaxAssetChunk)
		if got = append(got, part...); len(part) == 0 {
			break
		}
	}
	require.Equal(t, long, string(got))
	a.Close(t.Context(), handle)
	a.Close(t.Context(), handle)
	require.Zero(t, s.open)
	_, err = a.Read(t.Context(), handle, 1)
	require.ErrorIs(t, err, abi.ErrNotFound)

	handle, err = a.Open(t.Context(), "cut", abi.AssetsFormBlob)
	require.NoError(t, err)
	_, err = a.Read(t.Context(), handle, 10)
	require.ErrorIs(t, err, abi.ErrUnavailable, "contents that are cut off are no end")
	_, err = a.Open(t.Context(), "other", abi.AssetsFormBlob)
	require.ErrorIs(t, err, abi.ErrNotFound)
	_, err = (&Assets{}).Open(t.Context(), "long", abi.AssetsFormBlob)
	require.ErrorIs(t, err, abi.ErrNotFound)
}

func TestACallHasSoManyAssetsOpenAndLeavesNone(t *testing.T) {
	s := &shelf{texts: map[string]io.Reader{"a": strings.NewReader("")}}
	a := &Assets{Opener: s, Ledger: unbounded{}}
	for range MaxOpenAssets {
		_, err := a.Open(t.Context(), "a", abi.AssetsFormBlob)
		require.NoError(t, err)
	}
	_, err := a.Open(t.Context(), "a", abi.AssetsFormBlob)
	require.ErrorIs(t, err, abi.ErrUnavailable)
	var failure *abi.Error
	require.True(t, errors.As(err, &failure))
	require.Equal(t, abi.ErrorOriginHost, failure.Origin)
	a.CloseAll()
	require.Zero(t, s.open)
}
