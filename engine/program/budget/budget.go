// Package budget bounds what the evaluation of one program takes. Whoever evaluates charges the steps that it is about to
// take and the memory that it is about to fill, and stops when the budget says so: it is spent, or the context has ended.
package budget

import (
	"context"
	"fmt"
	"sync/atomic"
)

// The names of the limits.
const (
	Steps  = "evaluation-steps"
	Memory = "evaluation-memory"
)

// The defaults of [Limits].
const (
	// DefaultSteps are some minutes. A program of 10,000 resources with 20 properties each takes two million.
	DefaultSteps = 1_000_000_000
	// DefaultMemory is enough for twenty of the largest assets as text, of 50 MB each.
	DefaultMemory = 1 << 30
)

// Limits bound one evaluation. A zero field stands for its default.
type Limits struct {
	// Steps are expressions, parts of values, names, and some bytes of text that are looked at.
	Steps uint64
	// Memory bounds the size of all values of the program, in bytes. Registered values count as written out.
	Memory uint64
	// Advice says how to raise a limit, for errors; nil stands for advice to whoever embeds the engine.
	Advice func(e ExceededError) string
	// Spent is called at the end with the charges; it may be nil.
	Spent func(steps, memory int64)
}

// ExceededError is a program whose evaluation would take more than it may.
type ExceededError struct {
	// Limit is [Steps] or [Memory].
	Limit string
	// Most is the limit.
	Most uint64
	// Advice says how to raise it.
	Advice string
}

// Error names the exceeded limit, and says how to raise it.
func (e *ExceededError) Error() string {
	says := fmt.Sprintf("the program takes more than the %d steps that its evaluation may take", e.Most)
	if e.Limit == Memory {
		says = fmt.Sprintf("the values of the program take more than the %d MiB that they may take, written out", max(1, e.Most>>20))
	}
	return fmt.Sprintf("%s (%s); %s", says, e.Limit, e.Advice)
}

// Budget counts the steps and the memory of one evaluation. It is safe for concurrent use. A nil Budget has no limit.
type Budget struct {
	ctx           context.Context
	limits        Limits
	steps, memory atomic.Int64
	exceeded      atomic.Pointer[ExceededError]
	told          atomic.Bool
}

// New returns a budget for an evaluation that ends with the context.
func New(ctx context.Context, limits Limits) *Budget {
	if limits.Steps == 0 {
		limits.Steps = DefaultSteps
	}
	if limits.Memory == 0 {
		limits.Memory = DefaultMemory
	}
	if limits.Advice == nil {
		limits.Advice = func(e ExceededError) string { return "the method Limit of the program raises it" }
	}
	return &Budget{ctx: ctx, limits: limits}
}

// Fork returns a budget with the charges so far, for an evaluation that ends with another context.
func (b *Budget) Fork(ctx context.Context) *Budget {
	forked := New(ctx, b.limits)
	forked.steps.Store(b.steps.Load())
	forked.memory.Store(b.memory.Load())
	return forked
}

// looksUp is how many steps may pass until the context is looked at: some 10 µs.
const looksUp = 128

// Step charges steps, and reports whether the evaluation may go on.
func (b *Budget) Step(n int) bool {
	if b == nil {
		return true
	}
	taken := b.steps.Add(int64(n))
	if uint64(taken) > b.limits.Steps {
		b.exceed(Steps, b.limits.Steps)
	}
	if taken/looksUp != (taken-int64(n))/looksUp && b.ctx.Err() != nil {
		return false
	}
	return b.exceeded.Load() == nil
}

// Hold charges memory, in bytes, and reports whether the evaluation may go on.
func (b *Budget) Hold(bytes int64) bool {
	if b == nil {
		return true
	}
	if uint64(b.memory.Add(bytes)) > b.limits.Memory {
		b.exceed(Memory, b.limits.Memory)
	}
	return b.exceeded.Load() == nil
}

func (b *Budget) exceed(limit string, most uint64) {
	e := &ExceededError{Limit: limit, Most: most}
	e.Advice = b.limits.Advice(*e)
	b.exceeded.CompareAndSwap(nil, e)
}

// Exceeded returns the exceeded budget, nil for none.
func (b *Budget) Exceeded() *ExceededError {
	if b == nil {
		return nil
	}
	return b.exceeded.Load()
}

// Tell returns the exceeded budget once, so that it is reported at one place.
func (b *Budget) Tell() *ExceededError {
	if e := b.Exceeded(); e != nil && b.told.CompareAndSwap(false, true) {
		return e
	}
	return nil
}

// Close ends the evaluation.
func (b *Budget) Close() {
	if b.limits.Spent != nil {
		b.limits.Spent(b.steps.Load(), b.memory.Load())
	}
}
