package conformance

import "context"

// CancelOnce has creates cancelled once the function returns, which it does when the create
// has begun, or its context has ended.
func (o *Options) CancelOnce(begun func(create context.Context)) { o.begun = begun }
