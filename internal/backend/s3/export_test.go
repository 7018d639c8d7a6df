package s3

import (
	"time"

	"github.com/husk-dev/husk/internal/backend"
)

// SetAttemptTime sets how long an attempt of a request may take until the server says how much it sends.
func SetAttemptTime(b *backend.Backend, limit time.Duration) { b.State.(*Store).b.attemptTime = limit }
