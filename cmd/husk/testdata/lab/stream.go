package main

import (
	"context"
	"errors"
	"iter"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// CountArgs are those of the function count.
type CountArgs struct {
	To   int     `husk:"to" doc:"The last number."`
	Fail *int    `husk:"fail" doc:"The number that cannot be had."`
	Key  *string `husk:"key" doc:"What opens each number."`
}

// CountResult is a number.
type CountResult struct {
	Number int     `husk:"number"`
	Key    *string `husk:"key,secret"`
}

// count is a function whose results come one by one.
func count(_ context.Context, args CountArgs) iter.Seq2[CountResult, error] {
	return func(yield func(CountResult, error) bool) {
		for n := 1; n <= args.To; n++ {
			if args.Fail != nil && n == *args.Fail {
				yield(CountResult{}, errors.New("there is no such number"))
				return
			}
			if !yield(CountResult{n, args.Key}, nil) {
				return
			}
		}
	}
}

var countFunction = guest.StreamOf("lab:index:count", count)
