package asset

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// Intercept lets a provider read the new assets of a call, and no others. Old values have only hashes: their
// files may be gone. If a response has such a hash, the contents are put back, so that they are not lost
// from the state.
func (s *Assets) Intercept(ctx context.Context, c *abi.Call) (context.Context, func(error) error, error) {
	var news, olds []property.Map
	for _, p := range c.RequestProperties() {
		switch m := p.Get(); {
		case !m.ContainsAssets():
		case p.Role.IsNew():
			news = append(news, m)
		default:
			olds = append(olds, m)
			p.Set(elide(m))
		}
	}
	if len(news) > 0 {
		ctx = abi.WithAssets(ctx, requestAssets{s, news})
	} else if abi.AssetsFrom(ctx) != nil { // the assets of the component's call in which this one is made
		ctx = abi.WithAssets(ctx, nil)
	}
	if len(news) == 0 && len(olds) == 0 {
		return ctx, nil, nil
	}
	return ctx, func(err error) error {
		response, err := c.AnswerProperties(err)
		for _, p := range response {
			p.Set(restore(p.Get(), append(news, olds...)))
		}
		return err
	}, nil
}

// elide removes from the assets in old values all but the hashes.
func elide(m property.Map) property.Map {
	return m.Transform(func(v property.Value) property.Value {
		if a, _ := sourceOf(v); a.Hash != "" {
			return elided(v)
		}
		return v
	})
}

// restore gives elided assets of a response the contents that they had in the request.
func restore(response property.Map, request []property.Map) property.Map {
	if !response.ContainsAssets() {
		return response
	}
	return response.Transform(func(v property.Value) property.Value {
		a, ok := sourceOf(v)
		if !ok || a.Source != property.SourceNone {
			return v
		}
		for _, m := range request {
			if found, ok := findHash(property.Object(m), a.Hash, v.Kind() == property.KindArchive); ok {
				return found
			}
		}
		return v
	})
}
