// Package asset adds hashes to the assets and archives of a deployment, and decides which files and URLs
// are read for whom.
package asset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/contents"
)

// Assets gives the assets and archives of a deployment their hashes, and opens them for
// providers.
//
// Only the program says which files and URLs are read. A file or URL that a provider names, in a response or in a component that
// it constructs, is read only if the program has named it too: otherwise a provider could read any file of its user, and reach
// any server. A path or URL that the program itself has from a provider is foreign, and read within narrower bounds: if the
// program says so, or if it is in the output of a resource.
type Assets struct {
	source contents.Source

	mu sync.Mutex
	// admitted holds the places that the program named.
	admitted map[contents.Place]struct{}
	// foreign holds the foreign places among them, with the part of the URL that the program wrote.
	foreign map[contents.Place]string
	// remote holds the hashes of URLs by place without hash. Each is fetched once for its hash,
	// and again for a provider that reads it.
	remote map[contents.Place]string
}

// New returns the assets of a deployment, which are read from the source.
func New(source contents.Source) *Assets {
	s := &Assets{
		source:   source,
		admitted: make(map[contents.Place]struct{}), foreign: make(map[contents.Place]string), remote: make(map[contents.Place]string),
	}
	s.source.Foreign = s.foreignPlace
	return s
}

// OpenForeign begins to read a file whose path the program has from somebody else.
func (s *Assets) OpenForeign(path string) (io.ReadCloser, error) { return s.source.OpenForeign(path) }

// foreignPlace is [contents.Source.Foreign] for admitted assets.
func (s *Assets) foreignPlace(p contents.Place) (named string, foreign bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	named, foreign = s.foreign[p]
	return named, foreign
}

// sourceOf returns an asset or archive as an archive, whose fields say where its contents are.
func sourceOf(v property.Value) (a property.Archive, ok bool) {
	if asset, ok := v.AsAsset(); ok {
		return property.Archive{Hash: asset.Hash, Source: asset.Source, Path: asset.Path, URI: asset.URI}, true
	}
	return v.AsArchive()
}

// placeOf returns where an asset or archive has its contents, and reports whether that is a file
// or URL.
func placeOf(v property.Value) (p contents.Place, outside bool) {
	a, _ := sourceOf(v)
	p = contents.Place{Archive: v.Kind() == property.KindArchive, Source: a.Source, Location: a.Path, Hash: a.Hash}
	if a.Source == property.SourceURI {
		p.Location = a.URI
	}
	return p, a.Source == property.SourcePath || a.Source == property.SourceURI
}

func hashOf(ctx context.Context, source contents.Source, v property.Value) (string, error) {
	if a, ok := v.AsAsset(); ok {
		return source.HashAsset(ctx, a)
	}
	a, _ := v.AsArchive()
	return source.HashArchive(ctx, a)
}

func withHash(v property.Value, hash string) property.Value {
	if a, ok := v.AsAsset(); ok {
		a.Hash = hash
		return property.AssetOf(a)
	}
	a, _ := v.AsArchive()
	a.Hash = hash
	return property.ArchiveOf(a)
}

// members returns the members of an archive with f applied to each.
func members(m property.Map, f func(property.Value) (property.Value, error)) (property.Map, error) {
	entries := make([]property.Entry, 0, m.Len())
	for name, v := range m.All() {
		v, err := f(v)
		if err != nil {
			return m, fmt.Errorf("%q: %w", name, err)
		}
		entries = append(entries, property.Entry{Key: name, Value: v})
	}
	return property.NewMap(entries...), nil
}

// hash computes a hash, or finds the one that a URL already has.
func (s *Assets) hash(ctx context.Context, v property.Value, place contents.Place) (string, error) {
	if place.Source != property.SourceURI {
		return hashOf(ctx, s.source, v)
	}
	place.Hash = ""
	s.mu.Lock()
	hash := s.remote[place]
	s.mu.Unlock()
	if hash != "" {
		return hash, nil
	}
	hash, err := hashOf(ctx, s.source, v)
	if err == nil {
		s.mu.Lock()
		s.remote[place] = hash
		s.mu.Unlock()
	}
	return hash, err
}

func checkHash(given, hash string) error {
	if given == "" || given == hash {
		return nil
	}
	return fmt.Errorf("its hash is given as %s, but its contents have %s: correct the hash, or leave it out", given, hash)
}

// elided returns an asset or archive without its contents.
func elided(v property.Value) property.Value {
	a, _ := sourceOf(v)
	if v.Kind() == property.KindAsset {
		return property.AssetOf(property.Asset{Hash: a.Hash})
	}
	return property.ArchiveOf(property.Archive{Hash: a.Hash})
}

// requestAssets opens the assets in a request.
type requestAssets struct {
	*Assets
	news []property.Map
}

// OpenAsset finds the asset or archive and begins to read it.
func (r requestAssets) OpenAsset(ctx context.Context, hash string, form abi.AssetsForm) (io.ReadCloser, error) {
	for _, m := range r.news {
		v, ok := findHash(property.Object(m), hash, form != abi.AssetsFormBlob)
		if ok && r.mayRead(v) {
			return r.open(ctx, v, form)
		}
	}
	return nil, abi.NewError(abi.ErrorKindNotFound, fmt.Sprintf("the inputs of the call have no %s with the hash %.64q", what(form), hash))
}

func what(form abi.AssetsForm) string {
	if form == abi.AssetsFormBlob {
		return "asset"
	}
	return "archive"
}

func (r requestAssets) open(ctx context.Context, v property.Value, form abi.AssetsForm) (io.ReadCloser, error) {
	if a, ok := v.AsAsset(); ok {
		data, err := r.source.OpenAsset(ctx, a)
		if err != nil {
			return nil, err
		}
		return contents.Verify(data, a.Hash), nil
	}
	a, _ := v.AsArchive()
	format := contents.Tar
	switch form {
	case abi.AssetsFormEntries:
		if err := r.verify(ctx, a); err != nil {
			return nil, err
		}
		return r.source.OpenEntries(ctx, a), nil
	case abi.AssetsFormTarGzip:
		format = contents.TarGzip
	case abi.AssetsFormZip:
		format = contents.Zip
	}
	data, hashed, err := r.source.OpenArchive(ctx, a, format)
	switch {
	case err != nil:
		return nil, err
	case hashed:
		return contents.Verify(data, a.Hash), nil
	}
	if err := r.verify(ctx, a); err != nil {
		return nil, errors.Join(err, data.Close())
	}
	return data, nil
}

// verify compares an archive with its hash before it is read in a form that has another one.
func (r requestAssets) verify(ctx context.Context, a property.Archive) error {
	hash, err := r.source.HashArchive(ctx, a)
	if err == nil && hash != a.Hash {
		err = contents.Changed(a.Hash, hash)
	}
	return err
}

// findHash finds an asset or archive that has contents.
func findHash(v property.Value, hash string, archive bool) (found property.Value, ok bool) {
	if hash == "" {
		return found, false
	}
	_, ok = v.Find(func(v property.Value) (hit bool) {
		found, hit = findMember(v, hash, archive)
		return hit
	})
	return found, ok
}

func findMember(v property.Value, hash string, archive bool) (property.Value, bool) {
	a, ok := sourceOf(v)
	if ok && archive == (v.Kind() == property.KindArchive) && a.Hash == hash && a.Source != property.SourceNone {
		return v, true
	}
	for _, member := range a.Assets.All() {
		if found, ok := findMember(member, hash, archive); ok {
			return found, true
		}
	}
	return v, false
}
