package asset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/contents"
)

// Admit returns m with a hash in each asset and archive. Given hashes must be right. A resource's output in an input of the
// program is foreign. Errors name the property.
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

// admitOutputs admits the assets in the outputs of resources.
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

// AdmitForeign returns an asset or archive whose path or URL is foreign with its hash, by which it is known to be foreign from
// now on. named is the part of its URL that the program wrote itself.
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

func (s *Assets) isAdmitted(p contents.Place) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.admitted[p]
	return ok
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
