//go:build !unix

package confined

// Nonblock is for Unix: opening a pipe waits nowhere else.
const Nonblock = 0
