package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/ephemeral"
	"github.com/husk-dev/husk/engine/internal/providers"
)

// openValues are the ephemeral values that a run has opened. They are renewed until the run ends, and closed
// then.
type openValues struct {
	mu      sync.Mutex
	open    []*openValue
	renewal sync.WaitGroup
	stop    context.CancelFunc // nil before the first value that expires
	ctx     context.Context
}

// openValue is one ephemeral value.
type openValue struct {
	provider abi.Provider
	token    string
	private  []byte // changed by its renewal alone, which ends before it is closed
}

// OpenEphemeral calls a function that opens an ephemeral value.
func (c *callerMonitor) OpenEphemeral(ctx context.Context, req abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	return c.invoke(ctx, req, func(provider abi.Provider, call abi.InvokeRequest) (property.Map, []abi.CheckFailure, error) {
		opened, err := provider.OpenEphemeral(ctx, abi.OpenEphemeralRequest(call))
		if err != nil || len(opened.Failures) > 0 {
			return property.Map{}, opened.Failures, err
		}
		c.d.values.add(&openValue{provider: provider, token: call.Token, private: opened.Private}, seconds(opened.RenewAfter), c.d.warn)
		marked := ephemeral.Mark(opened.Result)
		c.d.Secrets.LearnComputed(marked)
		return marked, nil, nil
	})
}

// minRenewal is the shortest time between two renewals of a value.
const minRenewal = time.Second

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// add takes a value that was opened. It is renewed after the time, unless that is 0.
func (o *openValues) add(v *openValue, renewAfter time.Duration, warn func(urn.URN, string, ...any)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = append(o.open, v)
	if renewAfter > 0 {
		if o.stop == nil {
			o.ctx, o.stop = context.WithCancel(context.Background())
		}
		ctx := o.ctx
		o.renewal.Go(func() { v.renew(ctx, renewAfter, warn) })
	}
}

// renew keeps a value open until the context ends.
func (v *openValue) renew(ctx context.Context, after time.Duration, warn func(urn.URN, string, ...any)) {
	for after > 0 {
		timer := time.NewTimer(max(after, minRenewal))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		renewed, err := v.provider.RenewEphemeral(ctx, abi.RenewEphemeralRequest{Token: v.token, Private: v.private})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			warn("", "the ephemeral value of %s could not be renewed, so what uses it may fail: %v", v.token, err)
			return
		}
		v.private, after = renewed.Private, seconds(renewed.RenewAfter)
	}
}

// close closes all values, the last first. A failure is a warning: the value expires by itself.
func (o *openValues) close(ctx context.Context, warn func(urn.URN, string, ...any)) {
	if o.stop != nil {
		o.stop()
	}
	o.renewal.Wait()
	for _, v := range slices.Backward(o.open) {
		err := v.provider.CloseEphemeral(ctx, abi.CloseEphemeralRequest{Token: v.token, Private: v.private})
		if err != nil && !errors.Is(err, abi.ErrUnimplemented) && !errors.Is(err, abi.ErrNotFound) {
			warn("", "the ephemeral value of %s could not be closed: %v", v.token, err)
		}
	}
	o.open = nil
}

// refuseEphemeral returns an error if one of the values is ephemeral: they would be recorded.
func refuseEphemeral(what string, m property.Map) error {
	for _, place := range ephemeral.Places(m) {
		return ephemeralError(what + " " + place.String())
	}
	return nil
}

func ephemeralError(what string) error {
	return fmt.Errorf("%s is ephemeral and must not be recorded: "+
		"only write-only inputs, configurations of providers, and arguments of functions take ephemeral values", what)
}

// withhold takes from a goal what must not be recorded: write-only inputs, and the ephemeral values of a
// provider's configuration. The provider gets it nevertheless.
func (g *generator) withhold(ctx context.Context, gl *goal, provider abi.Provider) error {
	places := gl.ephemeral
	if !providers.IsType(gl.typ) {
		places = nil
		if s, ok := provider.(*providers.Session); ok {
			var err error
			if places, err = s.WriteOnly(ctx, gl.typ, gl.inputs); err != nil {
				return err
			}
		}
		for _, e := range gl.ephemeral {
			if !slices.ContainsFunc(places, func(p property.Path) bool { return p.Contains(e) }) {
				err := abi.NewError(abi.ErrorKindInvalidArgument, ephemeralError("the value").Error())
				err.Path = e.String()
				return err
			}
		}
	}
	if len(places) > 0 {
		gl.inputs = g.registry.withheld.Withhold(gl.urn, gl.inputs, places)
	}
	return nil
}
