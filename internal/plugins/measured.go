package plugins

import (
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/host"
)

// measured is a provider whose host measures its calls.
type measured struct{ *host.Provider }

var _ engine.Measured = measured{}

// Measured implements [engine.Measured].
func (m measured) Measured() map[string]engine.Measure {
	out := make(map[string]engine.Measure)
	for method, s := range m.Stats().Methods {
		out[method] = engine.Measure{BySchema: int(s.BySchema), Fuel: s.Fuel, BytesIn: s.BytesIn, BytesOut: s.BytesOut}
	}
	return out
}

// loaded returns a provider as the engine gets it.
func loaded(p *host.Provider, err error) (abi.Provider, error) {
	if err != nil {
		return nil, err
	}
	return measured{p}, nil
}
