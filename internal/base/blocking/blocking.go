// Package blocking bounds waits that cannot be interrupted: for somebody who writes to a pipe,
// or for a lock of another process. The host does not use it; a guest's calls end otherwise.
package blocking

import "context"

// Call calls a function and returns its result, or the cause of the context's end if that comes
// first. The function then goes on by itself, and late, if it is not nil, gets the value that it
// returns without an error. A context that has ended starts nothing.
func Call[T any](ctx context.Context, f func() (T, error), late func(T)) (T, error) {
	if ctx.Err() != nil {
		var none T
		return none, context.Cause(ctx)
	}
	type result struct {
		value T
		err   error
	}
	results := make(chan result)
	abandoned := make(chan struct{})
	go func() {
		value, err := f()
		select {
		case results <- result{value, err}:
		case <-abandoned:
			if err == nil && late != nil {
				late(value)
			}
		}
	}()
	select {
	case r := <-results:
		return r.value, r.err
	case <-ctx.Done():
		close(abandoned)
		var none T
		return none, context.Cause(ctx)
	}
}
