//go:build !unix

package confined

const nonblock = 0
