package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/bench/internal/figures"
	"github.com/husk-dev/husk/host"
)

// ownTime is the cost that an update without changes cannot avoid: loading the compiled provider, setting it up, and a Check and
// a Diff of each resource, one after the other; by the guest, or by its schema where that suffices.
func (c *command) ownTime(ctx context.Context, size, rounds int, askGuest bool) (time.Duration, error) {
	var taken []time.Duration
	for range rounds {
		start := time.Now()
		if err := c.calls(ctx, size, askGuest); err != nil {
			return 0, err
		}
		taken = append(taken, time.Since(start))
	}
	return figures.Median(taken), nil
}

func (c *command) calls(ctx context.Context, size int, askGuest bool) (err error) {
	h, err := host.New(ctx, host.NewConfig().WithCacheDir(filepath.Join(c.cacheDir(), "compiled")))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(ctx)) }()
	module, err := h.Load(ctx, c.module)
	if err != nil {
		return err
	}
	p, err := module.NewProvider(ctx, host.ProviderOptions{Lenient: askGuest})
	if err != nil {
		return err
	}
	if _, err := p.Handshake(ctx, abi.HandshakeRequest{Engine: "husk"}); err != nil {
		return err
	}
	if err := p.Configure(ctx, abi.ConfigureRequest{}); err != nil {
		return err
	}
	const typ = "random:index/randomPet:RandomPet"
	for i := range size {
		name := fmt.Sprintf("pet%d", i)
		u := urn.New("bench", "dev", "", typ, name)
		inputs := property.NewMap(
			property.Entry{Key: "length", Value: property.Number(3)},
			property.Entry{Key: "prefix", Value: property.String(fmt.Sprintf("prefix-%d", i))},
			property.Entry{Key: "keepers", Value: property.Object(property.NewMap(
				property.Entry{Key: "of", Value: property.String("nothing")}))},
		)
		checked, err := p.Check(ctx, abi.CheckRequest{URN: u, Name: name, Type: typ, Olds: &inputs, News: inputs, RandomSeed: make([]byte, 32)})
		if err != nil {
			return err
		}
		if len(checked.Failures) > 0 {
			return fmt.Errorf("%s: %s", checked.Failures[0].Path, checked.Failures[0].Reason)
		}
		state := checked.Inputs.With("id", property.String(name))
		if _, err := p.Diff(ctx, abi.DiffRequest{
			URN: u, Name: name, Type: typ, ID: name, Olds: state, News: checked.Inputs, OldInputs: checked.Inputs,
		}); err != nil {
			return err
		}
	}
	return nil
}
