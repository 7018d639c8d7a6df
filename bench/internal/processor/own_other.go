//go:build !unix

package processor

import "time"

// Own is not measured here.
func Own() time.Duration { return 0 }

// Children is not measured here.
func Children() time.Duration { return 0 }
