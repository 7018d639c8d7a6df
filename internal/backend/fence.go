package backend

import "context"

type tokenKey struct{}

// WithToken returns a context for changes of what is kept beside a state by the holder of the lease with the fencing
// token. Backends with leases refuse them with [state.ErrFenced] when there was another lease since.
func WithToken(ctx context.Context, token uint64) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// Token returns the fencing token of [WithToken], 0 for changes that need no lease: those of a stack that nobody uses yet.
func Token(ctx context.Context) uint64 {
	token, _ := ctx.Value(tokenKey{}).(uint64)
	return token
}
