package webhook

import "time"

func init() { soon, late = time.Millisecond, time.Millisecond }
