// Command soak does the same very often, and measures whether the process is the same
// afterwards: calls of one provider, and cycles of loading, calling, and closing, of
// providers and of whole hosts. Some of the calls crash, as that ends an instance in another
// way.
//
// The tenth part of each is done before it is measured, so that caches and pools are as full
// as they get.
//
//	go run -C bench ./soak [-calls n] [-cycles n] [-hosts n] [-json]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/bench/internal/figures"
	"github.com/husk-dev/husk/bench/internal/programs"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
)

func main() {
	calls := flag.Int("calls", 1_000_000, "calls of one provider")
	cycles := flag.Int("cycles", 10_000, "cycles of making a provider, calling it, and closing it")
	hosts := flag.Int("hosts", 200, "cycles of making a host, loading a module with its cache, calling, and closing it")
	figures.Main("soak", func(ctx context.Context) ([]figures.Figure, error) {
		s, err := newSoak(ctx)
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(s.dir)
		all, err := s.run(ctx, *calls, *cycles, *hosts)
		return all, errors.Join(err, s.host.Close(ctx))
	})
}

type soak struct {
	dir    string
	wasm   []byte
	config host.Config
	host   *host.Host
}

func newSoak(ctx context.Context) (*soak, error) {
	wasm, err := programs.Module(ctx, "../examples/providers/random")
	if err != nil {
		return nil, err
	}
	s := &soak{wasm: wasm}
	if s.dir, err = os.MkdirTemp("", "husk-soak"); err != nil {
		return nil, err
	}
	s.config = host.NewConfig().WithCacheDir(filepath.Join(s.dir, "cache")).WithLimit(limit.Fuel, 1, "get-mappings")
	s.host, err = host.New(ctx, s.config)
	return s, err
}

func (s *soak) run(ctx context.Context, calls, cycles, hosts int) (all []figures.Figure, err error) {
	p, err := s.provider(ctx, s.host)
	if err != nil {
		return nil, err
	}
	parts := []struct {
		what string
		n    int
		do   func(n int) error
	}{
		{"calls", calls, func(int) error { return check(ctx, p) }},
		{"providers", cycles, func(n int) error { return s.cycle(ctx, s.host, n) }},
		{"hosts", hosts, func(n int) error { return s.hostCycle(ctx, n) }},
	}
	for _, part := range parts {
		warm := part.n / 10
		for n := range warm {
			if err := part.do(n); err != nil {
				return nil, fmt.Errorf("%s: %w", part.what, err)
			}
		}
		begin, start := look(), time.Now()
		for n := range part.n - warm {
			if err := part.do(n); err != nil {
				return nil, fmt.Errorf("%s: %w", part.what, err)
			}
		}
		took := time.Since(start) / time.Duration(max(part.n-warm, 1))
		what := fmt.Sprintf("%d %s", part.n, part.what)
		all = append(all, look().since(begin, what)...)
		all = append(all, figures.Of(what+", time of each", figures.Micros(took), "µs", 0))
	}
	return all, p.Close()
}

func (s *soak) provider(ctx context.Context, h *host.Host) (*host.Provider, error) {
	module, err := h.LoadBytes(ctx, s.wasm)
	if err != nil {
		return nil, err
	}
	p, err := module.NewProvider(ctx, host.ProviderOptions{Name: "random"})
	if err != nil {
		return nil, err
	}
	_, err = p.Handshake(ctx, abi.HandshakeRequest{Engine: "soak"})
	return p, err
}

// cycle makes a provider, calls it, and closes it. In every tenth, the instance is lost in a
// call, and another one is started.
func (s *soak) cycle(ctx context.Context, h *host.Host, n int) error {
	p, err := s.provider(ctx, h)
	if err != nil {
		return err
	}
	if n%10 == 0 {
		_, err := p.GetMappings(ctx, abi.GetMappingsRequest{})
		if _, ok := errors.AsType[*limit.ExceededError](err); !ok {
			return fmt.Errorf("a call without fuel ended with %w", err)
		}
	}
	return errors.Join(check(ctx, p), p.Close())
}

func (s *soak) hostCycle(ctx context.Context, n int) error {
	h, err := host.New(ctx, s.config)
	if err != nil {
		return err
	}
	return errors.Join(s.cycle(ctx, h, n), h.Close(ctx))
}

func check(ctx context.Context, p *host.Provider) error {
	const pet = "random:index/randomPet:RandomPet"
	_, err := p.Check(ctx, abi.CheckRequest{
		URN: urn.New("bench", "soak", "", pet, "pet"), Name: "pet", Type: pet,
		News: property.NewMap(property.Entry{Key: "length", Value: property.Number(3)}),
	})
	return err
}
