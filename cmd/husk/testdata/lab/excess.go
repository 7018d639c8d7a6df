package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"strings"
	"time"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// ExcessInputs are an Excess's.
type ExcessInputs struct {
	Of string `husk:"of" doc:"What there is too much of."`
}

// ExcessState is an Excess's.
type ExcessState struct {
	ExcessInputs
	Result string `husk:"result"`
}

// Excess is a resource that takes a lot.
type Excess struct{}

// hoard is memory that is not given back.
var hoard []byte

// Create takes much memory, writes and returns much, or does something until it is stopped.
func (Excess) Create(ctx context.Context, r guest.CreateRequest[ExcessInputs]) (guest.CreateResponse[ExcessState], error) {
	response := guest.CreateResponse[ExcessState]{ID: "made", State: ExcessState{ExcessInputs: r.Inputs}}
	var again func() error
	switch r.Inputs.Of {
	case "memory":
		hoard = bytes.Repeat([]byte{1}, 100<<20)
	case "output":
		for range 1000 {
			guest.Log(ctx).Info(strings.Repeat("flood ", 20))
		}
	case "answer":
		response.State.Result = strings.Repeat("x", 10<<10)
	case "work":
		again = func() error { return nil }
	case "time":
		again = func() error { _ = time.Now(); return nil }
	case "chance":
		again = func() error { _, err := rand.Read(make([]byte, 1<<10)); return err }
	case "files":
		again = func() error { _, err := os.Open("."); return err }
	}
	for again != nil {
		if err := again(); err != nil {
			return response, err
		}
	}
	return response, nil
}
