package main

import (
	"context"
	"errors"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// RingArgs are the arguments of ring.
type RingArgs struct {
	At  string `husk:"at"`
	Key string `husk:"key,optional"`
}

// ring rings a bell, with a key if it is locked.
func ring(ctx context.Context, args RingArgs) error {
	if args.At == "night" {
		return errors.New("nobody opens the door")
	}
	guest.Log(ctx).Info("ringing at " + args.At + " " + args.Key)
	return nil
}
