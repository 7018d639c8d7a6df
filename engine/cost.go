package engine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/internal/base/sorted"
)

// MethodCost is the cost of the calls of one method of a provider.
type MethodCost struct {
	Method   string `json:"method"`
	Calls    int    `json:"calls"`
	Failures int    `json:"failures,omitempty"`
	// Microseconds is the time of all calls, which may overlap.
	Microseconds        int64 `json:"microseconds"`
	LongestMicroseconds int64 `json:"longestMicroseconds"`
	// Only a host of modules measures the following; see [Measure].
	BySchema int    `json:"bySchema,omitempty"`
	Fuel     uint64 `json:"fuel,omitempty"`
	BytesIn  uint64 `json:"bytesIn,omitempty"`
	BytesOut uint64 `json:"bytesOut,omitempty"`
}

// StepCost is the time that a step spent in its provider, with the check and comparison before it.
type StepCost struct {
	Calls        int   `json:"calls"`
	Microseconds int64 `json:"microseconds"`
}

// stepCost is a StepCost that is being counted.
type stepCost struct{ calls, microseconds atomic.Int64 }

type stepCostKey struct{}

// counting returns a context that counts the calls of providers for the steps of one registration.
func counting(ctx context.Context) context.Context {
	return context.WithValue(ctx, stepCostKey{}, new(stepCost))
}

// stepCostOf returns the counter of a context, and a context that has one.
func stepCostOf(ctx context.Context) (context.Context, *stepCost) {
	if c, ok := ctx.Value(stepCostKey{}).(*stepCost); ok {
		return ctx, c
	}
	ctx = counting(ctx)
	return ctx, ctx.Value(stepCostKey{}).(*stepCost)
}

// take returns the counts and resets them.
func (c *stepCost) take() *StepCost {
	out := &StepCost{int(c.calls.Swap(0)), c.microseconds.Swap(0)}
	if out.Calls == 0 {
		return nil
	}
	return out
}

// costs counts what the calls of one provider cost.
type costs struct {
	pkg      string
	provider abi.Provider

	mu sync.Mutex
	// urn is the URN of the provider resource, empty before it is configured.
	urn     urn.URN
	methods map[string]*MethodCost
}

// intercept measures a call. Cancel does not count as a cost of a deployment.
func (c *costs) intercept(ctx context.Context, call *abi.Call) (context.Context, func(error) error, error) {
	if call.Method == abi.MethodCancel {
		return ctx, nil, nil
	}
	start := time.Now()
	return ctx, func(err error) error {
		took := time.Since(start).Microseconds()
		if step, ok := ctx.Value(stepCostKey{}).(*stepCost); ok {
			step.calls.Add(1)
			step.microseconds.Add(took)
		}
		c.add(call, took, err)
		return err
	}, nil
}

// add counts a call that took so many microseconds.
func (c *costs) add(call *abi.Call, took int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.Method == abi.MethodConfigure {
		c.urn = call.Subject().URN
	}
	method := string(call.Method)
	m := c.methods[method]
	if m == nil {
		m = &MethodCost{Method: method}
		c.methods[method] = m
	}
	m.Calls++
	m.Microseconds += took
	m.LongestMicroseconds = max(m.LongestMicroseconds, took)
	if err != nil && !errors.Is(err, abi.ErrUnimplemented) {
		m.Failures++
	}
}

// countedProviders are the providers of a deployment whose calls are counted.
type countedProviders struct {
	mu  sync.Mutex
	all []*costs
}

// count returns a provider whose calls are counted.
func (c *countedProviders) count(pkg string, p abi.Provider) abi.Provider {
	counted := &costs{pkg: pkg, provider: p, methods: make(map[string]*MethodCost)}
	c.mu.Lock()
	c.all = append(c.all, counted)
	c.mu.Unlock()
	return abi.Intercept(p, counted.intercept)
}

// read returns the costs of each provider, one entry for each provider resource, sorted.
func (c *countedProviders) read() []ProviderCosts {
	c.mu.Lock()
	defer c.mu.Unlock()
	type key struct {
		pkg string
		urn urn.URN
	}
	sums := make(map[key]map[string]MethodCost)
	for _, p := range c.all {
		k := key{p.pkg, p.urn}
		if sums[k] == nil {
			sums[k] = make(map[string]MethodCost)
		}
		p.addTo(sums[k])
	}
	var out []ProviderCosts
	for k, methods := range sums {
		costs := slices.Collect(maps.Values(methods))
		sorted.By(costs, func(a, b MethodCost) int { return cmp.Compare(a.Method, b.Method) })
		if len(costs) > 0 {
			out = append(out, ProviderCosts{Package: k.pkg, URN: k.urn, Methods: costs})
		}
	}
	sorted.By(out, func(a, b ProviderCosts) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.URN, b.URN))
	})
	return out
}

func (c *costs) addTo(sums map[string]MethodCost) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var measured map[string]abi.Measure
	if m, ok := c.provider.(abi.Measured); ok {
		measured = m.Measured()
	}
	for name, cost := range c.methods {
		sum, m := sums[name], measured[name]
		sum.Method = name
		sum.Calls += cost.Calls
		sum.Failures += cost.Failures
		sum.Microseconds += cost.Microseconds
		sum.LongestMicroseconds = max(sum.LongestMicroseconds, cost.LongestMicroseconds)
		sum.BySchema += m.BySchema
		sum.Fuel += m.Fuel
		sum.BytesIn += m.BytesIn
		sum.BytesOut += m.BytesOut
		sums[name] = sum
	}
}
