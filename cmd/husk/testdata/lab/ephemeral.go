package main

import (
	"context"
	"strconv"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// KeyArgs are the arguments of a Key.
type KeyArgs struct {
	Door string `husk:"door"`
}

// KeyResult is a key that is lent.
type KeyResult struct {
	Text string `husk:"text,secret"`
}

// Key lends keys.
type Key struct{}

// Open lends a key.
func (Key) Open(ctx context.Context, args KeyArgs) (guest.Opened[KeyResult], error) {
	guest.Log(ctx).Info("lending the key of " + args.Door)
	return guest.Opened[KeyResult]{Value: KeyResult{"s3same-" + args.Door}, Lease: guest.Lease{Private: []byte(args.Door)}}, nil
}

// Close takes a key back.
func (Key) Close(ctx context.Context, private []byte) error {
	guest.Log(ctx).Info("taking back the key of " + string(private))
	return nil
}

// SafeInputs are a Safe's inputs.
type SafeInputs struct {
	Code        string `husk:"code,writeonly"`
	CodeVersion int    `husk:"codeVersion,default=1"`
}

// SafeState is a Safe's state.
type SafeState struct {
	CodeVersion int    `husk:"codeVersion"`
	Digits      string `husk:"digits"`
}

// Safe is a resource with a code that nobody records.
type Safe struct{}

func (Safe) state(in SafeInputs) SafeState {
	return SafeState{in.CodeVersion, strconv.Itoa(len(in.Code))}
}

// Create makes a safe.
func (s Safe) Create(_ context.Context, r guest.CreateRequest[SafeInputs]) (guest.CreateResponse[SafeState], error) {
	return guest.CreateResponse[SafeState]{ID: "safe", State: s.state(r.Inputs)}, nil
}

// Update changes the code.
func (s Safe) Update(_ context.Context, r guest.UpdateRequest[SafeInputs, SafeState]) (guest.UpdateResponse[SafeState], error) {
	return guest.UpdateResponse[SafeState]{State: s.state(r.Inputs)}, nil
}
