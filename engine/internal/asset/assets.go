// Package asset gives the assets and archives of a deployment their hashes, and decides which files and
// URLs are read for whom.
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
// Only the program says which files and URLs are read. What a provider names, in an
// answer or in a component that it constructs, is read only if the program has named
// it too: otherwise a provider could get hold of any file of its user, and reach any
// server, by making an asset of it. Where the program names one by a path or URL that it has from
// a provider, that is foreign, and read within narrower bounds: if the program says so, and if it
// is in the output of a resource.
type Assets struct {
	source contents.Source

	mu sync.Mutex
	// admitted holds what the program named.
	admitted map[origin]struct{}
	// foreign holds what of it is foreign, with what the program wrote of its URL.
	foreign map[origin]string
	// remote holds the hashes of URLs, each of which is fetched once to make it. It is
	// fetched again for a provider that reads it.
	remote map[origin]string
}

// origin is where contents come from, with the hash that they had, except as a key of remote.
type origin struct {
	archive  bool
	source   property.AssetSource
	location string
	hash     string
}

// New returns the assets of a deployment, which are read from the source.
func New(source contents.Source) *Assets {
	s := &Assets{admitted: make(map[origin]struct{}), foreign: make(map[origin]string), remote: make(map[origin]string)}
	s.source = source
	s.source.Foreign = s.foreignPlace
	return s
}

// OpenForeign begins to read a file whose path the program has from somebody else.
func (s *Assets) OpenForeign(path string) (io.ReadCloser, error) { return s.source.OpenForeign(path) }

// foreignPlace is [contents.Source.Foreign] for what was admitted.
func (s *Assets) foreignPlace(p contents.Place) (named string, foreign bool) {
	return s.isForeign(origin{archive: p.Archive, source: p.Source, location: p.Location, hash: p.Hash})
}

func (s *Assets) isForeign(o origin) (named string, foreign bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	named, foreign = s.foreign[o]
	return named, foreign
}

// AdmitForeign returns an asset or archive whose path or URL is foreign with its hash, by which it
// is known to be foreign from now on. named is what the program wrote of its URL.
func (s *Assets) AdmitForeign(ctx context.Context, v property.Value, named string) (property.Value, error) {
	source := s.source
	var given, hash string
	var o origin
	var err error
	source.Foreign = func(p contents.Place) (string, bool) {
		return named, p.Location == o.location && p.Source == o.source
	}
	if a, ok := v.AsAsset(); ok {
		o, _ = originOfAsset(a)
		hash, err = source.HashAsset(ctx, a)
		given, a.Hash = a.Hash, hash
		v = property.AssetOf(a)
	} else if a, ok := v.AsArchive(); ok {
		o, _ = originOfArchive(a)
		hash, err = source.HashArchive(ctx, a)
		given, a.Hash = a.Hash, hash
		v = property.ArchiveOf(a)
	}
	if err == nil {
		err = checkHash(given, hash)
	}
	if err != nil {
		return v, err
	}
	o.hash = hash
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admitted[o], s.foreign[o] = struct{}{}, named
	return v, nil
}

func originOfAsset(a property.Asset) (o origin, ok bool) {
	o = origin{source: a.Source, hash: a.Hash, location: a.Path}
	if a.Source == property.SourceURI {
		o.location = a.URI
	}
	return o, a.Source == property.SourcePath || a.Source == property.SourceURI
}

func originOfArchive(a property.Archive) (o origin, ok bool) {
	o, ok = originOfAsset(property.Asset{Hash: a.Hash, Source: a.Source, Path: a.Path, URI: a.URI})
	o.archive = true
	return o, ok
}

func (s *Assets) isAdmitted(o origin) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.admitted[o]
	return ok
}

// Admit returns m with a hash in each asset and archive. Hashes that are there already
// must be right. What a program passes as the output of a resource comes from that, so it is
// foreign. Errors name the property.
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
	var o origin
	var outside bool
	if a, ok := v.AsAsset(); ok {
		o, outside = originOfAsset(a)
	} else if a, ok := v.AsArchive(); ok {
		var err error
		a.Assets, err = members(a.Assets, func(v property.Value) (property.Value, error) { return s.admitComputed(ctx, v) })
		if err != nil {
			return v, err
		}
		o, outside = originOfArchive(a)
		v = property.ArchiveOf(a)
	}
	if !outside || s.isAdmitted(o) {
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
	if a, ok := v.AsAsset(); ok {
		a, err := s.admitAsset(ctx, a, byProgram)
		return property.AssetOf(a), err
	}
	if a, ok := v.AsArchive(); ok {
		a, err := s.admitArchive(ctx, a, byProgram)
		return property.ArchiveOf(a), err
	}
	return v, nil
}

func (s *Assets) admitAsset(ctx context.Context, a property.Asset, byProgram bool) (property.Asset, error) {
	o, outside := originOfAsset(a)
	switch {
	case a.Source == property.SourceNone:
		return a, checkElided(a.Hash)
	case outside && !byProgram:
		return a, s.checkAdmitted(o)
	}
	if _, foreign := s.isForeign(o); foreign {
		return a, nil // it has its hash
	}
	hash, err := s.hash(o, func() (string, error) { return s.source.HashAsset(ctx, a) })
	if err != nil {
		return a, err
	}
	if err := checkHash(a.Hash, hash); err != nil {
		return a, err
	}
	a.Hash, o.hash = hash, hash
	s.note(o, outside)
	return a, nil
}

func (s *Assets) admitArchive(ctx context.Context, a property.Archive, byProgram bool) (property.Archive, error) {
	o, outside := originOfArchive(a)
	switch {
	case a.Source == property.SourceNone:
		return a, checkElided(a.Hash)
	case outside && !byProgram:
		return a, s.checkAdmitted(o)
	case a.Source == property.SourceAssets:
		var err error
		a.Assets, err = members(a.Assets, func(v property.Value) (property.Value, error) { return s.admitValue(ctx, v, byProgram) })
		if err != nil {
			return a, err
		}
	}
	if _, foreign := s.isForeign(o); foreign {
		return a, nil // it has its hash
	}
	hash, err := s.hash(o, func() (string, error) { return s.source.HashArchive(ctx, a) })
	if err != nil {
		return a, err
	}
	if err := checkHash(a.Hash, hash); err != nil {
		return a, err
	}
	a.Hash, o.hash = hash, hash
	s.note(o, outside)
	return a, nil
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
func (s *Assets) hash(o origin, make func() (string, error)) (string, error) {
	if o.source != property.SourceURI {
		return make()
	}
	o.hash = ""
	s.mu.Lock()
	hash := s.remote[o]
	s.mu.Unlock()
	if hash != "" {
		return hash, nil
	}
	hash, err := make()
	if err == nil {
		s.mu.Lock()
		s.remote[o] = hash
		s.mu.Unlock()
	}
	return hash, err
}

func (s *Assets) note(o origin, outside bool) {
	if !outside {
		return
	}
	s.mu.Lock()
	s.admitted[o] = struct{}{}
	s.mu.Unlock()
}

func (s *Assets) checkAdmitted(o origin) error {
	if s.isAdmitted(o) {
		return nil
	}
	return fmt.Errorf("a component may not name files and URLs that the program has not: pass it as an input of the component, or make it a text")
}

func checkElided(hash string) error {
	if hash == "" {
		return fmt.Errorf("it has neither contents nor a hash")
	}
	return nil
}

func checkHash(given, hash string) error {
	if given == "" || given == hash {
		return nil
	}
	return fmt.Errorf("its hash is said to be %s, but that of its contents is %s: correct it, or leave it out", given, hash)
}

// Withhold takes from an answer the files and URLs that the program has not named. Of
// such assets their hash remains.
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
// program has named it. Of what is neither it reports true.
func (s *Assets) mayRead(v property.Value) bool {
	if a, ok := v.AsAsset(); ok {
		o, outside := originOfAsset(a)
		return !outside || s.isAdmitted(o)
	}
	a, ok := v.AsArchive()
	if !ok {
		return true
	}
	if o, outside := originOfArchive(a); outside {
		return s.isAdmitted(o)
	}
	for _, member := range a.Assets.All() {
		if !s.mayRead(member) {
			return false
		}
	}
	return true
}

// elided is an asset or archive without its contents.
func elided(v property.Value) property.Value {
	if a, ok := v.AsAsset(); ok {
		return property.AssetOf(property.Asset{Hash: a.Hash})
	}
	if a, ok := v.AsArchive(); ok {
		return property.ArchiveOf(property.Archive{Hash: a.Hash})
	}
	return v
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
	if a, ok := v.AsAsset(); ok {
		return v, !archive && a.Hash == hash && a.Source != property.SourceNone
	}
	a, ok := v.AsArchive()
	if !ok {
		return v, false
	}
	if archive && a.Hash == hash && a.Source != property.SourceNone {
		return v, true
	}
	for _, member := range a.Assets.All() {
		if found, ok := findMember(member, hash, archive); ok {
			return found, true
		}
	}
	return v, false
}
