// Package asset adds hashes to the assets and archives of a deployment, and decides which files and URLs
// are read for whom.
package asset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/contents"
)

// Assets gives the assets and archives of a deployment their hashes, and opens them for
// providers.
//
// Only the program says which files and URLs are read. What a provider names, in a
// response or in a component that it constructs, is read only if the program has named
// it too: otherwise a provider could read any file of its user, and reach any server.
// A path or URL that the program itself has from a provider is foreign, and read within
// narrower bounds: if the program says so, or if it is in the output of a resource.
type Assets struct {
	source contents.Source

	mu sync.Mutex
	// admitted holds what the program named.
	admitted map[contents.Place]struct{}
	// foreign holds what of it is foreign, with what the program wrote of its URL.
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

// foreignPlace is [contents.Source.Foreign] for what was admitted.
func (s *Assets) foreignPlace(p contents.Place) (named string, foreign bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	named, foreign = s.foreign[p]
	return named, foreign
}

// AdmitForeign returns an asset or archive whose path or URL is foreign with its hash, by which it
// is known to be foreign from now on. named is what the program wrote of its URL.
func (s *Assets) AdmitForeign(ctx context.Context, v property.Value, named string) (property.Value, error) {
	if _, ok := sourceOf(v); !ok {
		return v, nil
	}
	place, _ := placeOf(v)
	source := s.source
	source.Foreign = func(p contents.Place) (string, bool) {
		return named, p.Location == place.Location && p.Source == place.Source
	}
	hash, err := hashOf(ctx, source, v)
	if err == nil {
		err = checkHash(place.Hash, hash)
	}
	if err != nil {
		return v, err
	}
	place.Hash = hash
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admitted[place], s.foreign[place] = struct{}{}, named
	return withHash(v, hash), nil
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

func (s *Assets) isAdmitted(p contents.Place) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.admitted[p]
	return ok
}

// Admit returns m with a hash in each asset and archive. Hashes that are there must be right. What a
// program passes as the output of a resource is foreign. Errors name the property.
func (s *Assets) Admit(ctx context.Context, m property.Map, byProgram bool) (property.Map, error) {
	if !m.ContainsAssets() {
		return m, nil
	}
	if byProgram && m.ContainsOutputs() {
		var err error
		if m, err = s.admitOutputs(ctx, m); err != nil {
			return m, err
		}
	}
	return m.TransformPaths(func(path property.Path, v property.Value) (property.Value, error) {
		v, err := s.admitValue(ctx, v, byProgram)
		return v, unusable(m, path, v, err)
	})
}

// admitOutputs admits what is in the outputs of resources.
func (s *Assets) admitOutputs(ctx context.Context, m property.Map) (property.Map, error) {
	return m.TransformPaths(func(around property.Path, v property.Value) (property.Value, error) {
		o, ok := v.AsOutput()
		if !ok || len(o.Dependencies) == 0 {
			return v, nil
		}
		var err error
		o.Value, err = o.Value.TransformPaths(func(path property.Path, v property.Value) (property.Value, error) {
			v, err := s.admitComputed(ctx, v)
			return v, unusable(m, slices.Concat(around, path), v, err)
		})
		return property.OutputOf(o), err
	})
}

// admitComputed admits an asset or archive that comes from a resource, unless the program has named
// it, and returns any other value as it is.
func (s *Assets) admitComputed(ctx context.Context, v property.Value) (property.Value, error) {
	if a, ok := v.AsArchive(); ok {
		var err error
		a.Assets, err = members(a.Assets, func(v property.Value) (property.Value, error) { return s.admitComputed(ctx, v) })
		if err != nil {
			return v, err
		}
		v = property.ArchiveOf(a)
	}
	if p, outside := placeOf(v); !outside || s.isAdmitted(p) {
		return v, nil
	}
	return s.AdmitForeign(ctx, v, "")
}

// unusable is the error of an asset or archive of m that has the error err, nil for none.
func unusable(m property.Map, path property.Path, v property.Value, err error) error {
	if err == nil {
		return nil
	}
	failure := abi.NewError(abi.ErrorKindInvalidArgument, fmt.Sprintf("the %s cannot be used: %v", v.Kind(), err))
	failure.Path = path.String()
	if whole, _ := path[:1].Get(property.Object(m)); whole.ContainsSecrets() {
		failure.Message = fmt.Sprintf("the %s cannot be used; saying why could tell a secret", v.Kind())
	}
	return failure
}

func (s *Assets) admitValue(ctx context.Context, v property.Value, byProgram bool) (property.Value, error) {
	a, ok := sourceOf(v)
	place, outside := placeOf(v)
	switch {
	case !ok:
		return v, nil
	case a.Source == property.SourceNone && a.Hash == "":
		return v, errors.New("it has neither contents nor a hash")
	case a.Source == property.SourceNone:
		return v, nil
	case outside && !byProgram && !s.isAdmitted(place):
		return v, errors.New("a component may not name files and URLs that the program has not: pass it as an input of the component, or make it a text")
	case outside && !byProgram:
		return v, nil
	case a.Source == property.SourceAssets:
		var err error
		a.Assets, err = members(a.Assets, func(v property.Value) (property.Value, error) { return s.admitValue(ctx, v, byProgram) })
		if err != nil {
			return v, err
		}
		v = property.ArchiveOf(a)
	}
	if _, foreign := s.foreignPlace(place); foreign {
		return v, nil // it has its hash
	}
	hash, err := s.hash(ctx, v, place)
	if err == nil {
		err = checkHash(a.Hash, hash)
	}
	if err != nil {
		return v, err
	}
	if place.Hash = hash; outside {
		s.mu.Lock()
		s.admitted[place] = struct{}{}
		s.mu.Unlock()
	}
	return withHash(v, hash), nil
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

// hash makes a hash, or finds that of a URL that has one.
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
	return fmt.Errorf("its hash is said to be %s, but that of its contents is %s: correct it, or leave it out", given, hash)
}

// Withhold removes from a response the files and URLs that the program has not named. Of such assets the
// hash remains.
func (s *Assets) Withhold(m property.Map) property.Map {
	if !m.ContainsAssets() {
		return m
	}
	return m.Transform(func(v property.Value) property.Value {
		if s.mayRead(v) {
			return v
		}
		return elided(v)
	})
}

// mayRead reports whether nothing in an asset or archive is of the outside, or the
// program has named it. Of other values it reports true.
func (s *Assets) mayRead(v property.Value) bool {
	if p, outside := placeOf(v); outside {
		return s.isAdmitted(p)
	}
	a, _ := v.AsArchive()
	for _, member := range a.Assets.All() {
		if !s.mayRead(member) {
			return false
		}
	}
	return true
}

// elided returns an asset or archive without its contents.
func elided(v property.Value) property.Value {
	a, _ := sourceOf(v)
	if v.Kind() == property.KindAsset {
		return property.AssetOf(property.Asset{Hash: a.Hash})
	}
	return property.ArchiveOf(property.Archive{Hash: a.Hash})
}

// requestAssets opens what is in a request.
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
