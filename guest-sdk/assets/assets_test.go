package assets_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/assets"
)

// opener has contents by hash and form, which end with an error if there is one.
type opener struct {
	contents map[string][]byte
	err      error
}

func (o opener) OpenAsset(_ context.Context, hash string, form abi.AssetsForm) (io.ReadCloser, error) {
	data, ok := o.contents[hash+" "+form.String()]
	if !ok {
		return nil, abi.NewError(abi.ErrorKindNotFound, "no "+hash)
	}
	var end io.Reader = bytes.NewReader(nil)
	if o.err != nil {
		end = failing{o.err}
	}
	return io.NopCloser(io.MultiReader(bytes.NewReader(data), end)), nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func tarOf(t *testing.T, pairs ...string) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: pairs[i], Mode: 0o600, Size: int64(len(pairs[i+1]))}))
		_, err := io.WriteString(w, pairs[i+1])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestAssetsAreReadFromWhoCalls(t *testing.T) {
	ctx := abi.WithAssets(t.Context(), opener{contents: map[string][]byte{"1f blob": []byte("hello"), "2f zip": []byte("zipped")}})
	for name, open := range map[string]func() (io.ReadCloser, error){
		"hello": func() (io.ReadCloser, error) {
			return assets.Open(ctx, property.Asset{Hash: "1f", Source: property.SourcePath, Path: "a"})
		},
		"text": func() (io.ReadCloser, error) {
			return assets.Open(t.Context(), property.Asset{Source: property.SourceText, Text: "text"})
		},
		"zipped": func() (io.ReadCloser, error) {
			return assets.OpenArchive(ctx, property.Archive{Hash: "2f", Source: property.SourceURI, URI: "http://a"}, assets.Zip)
		},
	} {
		r, err := open()
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, name, string(data))
		require.NoError(t, r.Close())
	}
	_, err := assets.Open(t.Context(), property.Asset{Hash: "1f", Source: property.SourcePath, Path: "a"})
	require.ErrorIs(t, err, abi.ErrNotFound)
}

func TestOldAssetsHaveNoContents(t *testing.T) {
	_, err := assets.Open(t.Context(), property.Asset{Hash: "1f"})
	require.ErrorIs(t, err, assets.ErrElided)
	_, err = assets.OpenArchive(t.Context(), property.Archive{Hash: "1f"}, assets.Tar)
	require.ErrorIs(t, err, assets.ErrElided)
	for _, err := range assets.Entries(t.Context(), property.Archive{Hash: "1f"}) {
		require.ErrorIs(t, err, assets.ErrElided)
	}
}

func TestEntriesEndWithTheErrorOfTheirArchive(t *testing.T) {
	archive := property.Archive{Hash: "1f", Source: property.SourcePath, Path: "a.zip"}
	changed := errors.New("changed")
	for _, end := range []error{nil, changed} {
		ctx := abi.WithAssets(t.Context(), opener{contents: map[string][]byte{"1f entries": tarOf(t, "a", "ay", "b/c", "sea")}, err: end})
		var got []string
		var last error
		for e, err := range assets.Entries(ctx, archive) {
			if last = err; err == nil {
				data, err := io.ReadAll(e)
				require.NoError(t, err)
				require.Len(t, data, int(e.Size))
				got = append(got, e.Name+": "+string(data))
			}
		}
		require.Equal(t, []string{"a: ay", "b/c: sea"}, got)
		require.ErrorIs(t, last, end)
	}
}
