package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/internal/providers"
)

// StreamInvoke calls a function whose results come one by one.
func (c *callerMonitor) StreamInvoke(ctx context.Context, req abi.MonitorInvokeRequest) iter.Seq2[property.Value, error] {
	return func(yield func(property.Value, error) bool) {
		wanted := true
		admitted, err := c.admitCall(ctx, req)
		if err != nil {
			err = fmt.Errorf("function %s: %w", req.Token, err)
		} else {
			err = c.stream(ctx, admitted, func(v property.Value) bool {
				if m, ok := v.AsObject(); ok {
					v = property.Object(c.d.assets.Withhold(m))
				}
				wanted = yield(v, nil)
				return wanted
			})
		}
		if err != nil && wanted {
			yield(property.Null, err)
		}
	}
}

// stream calls yield with each result of a function, until it returns false, and closes the stream.
func (m *monitor) stream(ctx context.Context, req abi.MonitorInvokeRequest, yield func(property.Value) bool) error {
	provider, call, err := m.functionCall(ctx, req)
	if err != nil {
		return err
	}
	if provider == nil {
		yield(property.Unknown)
		return nil
	}
	handle, err := provider.StreamInvoke(ctx, call)
	if errors.Is(err, providers.ErrUnconfigured) {
		yield(property.Unknown)
		return nil
	}
	session, _ := provider.(*providers.Session) // nil for the engine's own package
	wanted := true
	for wanted && err == nil {
		var item abi.StreamItem
		item, err = provider.StreamNext(ctx, handle)
		switch {
		case err != nil:
		case item.Result == nil:
			return nil
		case item.Result.ContainsUnknowns() && !m.d.dryRun:
			err, wanted = errUnknownResult, false
		default:
			result := *item.Result
			if session != nil {
				result = session.MarkStreamed(call.Args, result)
			}
			wanted = yield(property.Object(result))
		}
	}
	if !wanted {
		err = errors.Join(err, provider.StreamClose(context.WithoutCancel(ctx), handle))
	}
	if err != nil {
		err = fmt.Errorf("function %s: %w", req.Token, err)
	}
	return err
}
