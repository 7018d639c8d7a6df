package backend

import "context"

type tokenKey struct{}

// WithToken returns a context in which the holder of the lease with the fencing token changes data beside a state, such as
// values of providers. Backends with leases refuse the changes with [state.ErrFenced] if there was another lease since.
func WithToken(ctx context.Context, token uint64) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// Token returns the fencing token of [WithToken], 0 for changes that need no lease, because nobody uses the stack yet.
func Token(ctx context.Context) uint64 {
	token, _ := ctx.Value(tokenKey{}).(uint64)
	return token
}
