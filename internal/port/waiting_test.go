package port

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program/goprogram"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testmodule"
)

// granting loads one module for all packages, with grants.
type granting struct {
	*host.Module
	grants host.Grants
}

func (l granting) Load(ctx context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	return l.NewProvider(ctx, host.ProviderOptions{Name: spec.Name, Grants: l.grants})
}

// Twenty creates of a ported provider wait for its service at once: the service answers none before it has
// all of their requests.
func TestCreatesWaitTogether(t *testing.T) {
	const creates = 20
	var waiting sync.WaitGroup
	waiting.Add(creates)
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		waiting.Done()
		waiting.Wait()
	}))
	defer service.Close()
	allowed, err := grant.ParseHTTP(service.URL)
	require.NoError(t, err)
	built, err := Port(t.Context(), "../../testdata/ported/parcels", Options{Dir: t.TempDir(), Name: "parcels", Version: "1.0.0"})
	require.NoError(t, err)
	m, err := testmodule.Host(t, host.NewConfig()).LoadBytes(t.Context(), built.Wasm)
	require.NoError(t, err)

	_, err = deploy(t, granting{m, host.Grants{HTTP: []grant.HTTP{allowed}}}, "parcels:url", service.URL, func(ctx context.Context, s *goprogram.Stack) (property.Map, error) {
		made := make(chan error, creates)
		for n := range creates {
			go func() {
				_, err := s.Resource(ctx, goprogram.Declaration{
					Type: "parcels:index/parcel:Parcel", Name: fmt.Sprint("p", n),
					Inputs: property.NewMap(property.Entry{Key: "to", Value: property.String(fmt.Sprint(n))}),
				})
				made <- err
			}()
		}
		var failures []error
		for range creates {
			failures = append(failures, <-made)
		}
		return property.Map{}, errors.Join(failures...)
	})
	require.NoError(t, err)
}
