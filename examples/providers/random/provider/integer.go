package provider

import (
	"context"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

type integerInputs struct {
	keepers
	Min  int64   `husk:"min" doc:"The least that it can be."`
	Max  int64   `husk:"max" doc:"The most that it can be."`
	Seed *string `husk:"seed" doc:"Any text. The same text gives the same number again; nobody must rely on such a number to be hard to guess."`
}

type integerState struct {
	integerInputs
	Result int64 `husk:"result" doc:"The number."`
}

// Integer is the resource RandomInteger.
type Integer struct{}

// Check compares the bounds.
func (Integer) Check(_ context.Context, r guest.CheckRequest[integerInputs]) ([]guest.CheckFailure, error) {
	if r.Known("min") && r.Known("max") && r.Inputs.Min > r.Inputs.Max {
		return []guest.CheckFailure{{Path: "max", Reason: "must be at least min, which is " + strconv.FormatInt(r.Inputs.Min, 10)}}, nil
	}
	return nil, nil
}

// Create draws the number.
func (Integer) Create(_ context.Context, r guest.CreateRequest[integerInputs]) (guest.CreateResponse[integerState], error) {
	in := r.Inputs
	// Bounds are at most 2^53 away from 0, so that the span does not overflow.
	span := uint64(in.Max-in.Min) + 1
	var offset uint64
	if in.Seed != nil && *in.Seed != "" {
		offset = uint64(seeded(*in.Seed).Intn(int(span)))
	} else {
		var err error
		if offset, err = draw(span); err != nil {
			return guest.CreateResponse[integerState]{}, err
		}
	}
	result := in.Min + int64(offset)
	return guest.CreateResponse[integerState]{ID: strconv.FormatInt(result, 10), State: integerState{in, result}}, nil
}

// Read makes a number of an ID like 7,1,10.
func (Integer) Read(_ context.Context, r guest.ReadRequest[integerInputs, integerState]) (guest.ReadResponse[integerInputs, integerState], error) {
	if response, ok := recorded(r); ok {
		return response, nil
	}
	parts := strings.SplitN(r.ID, ",", 4)
	var numbers [3]int64
	valid := len(parts) >= len(numbers)
	for i := range numbers {
		if valid {
			var err error
			numbers[i], err = strconv.ParseInt(parts[i], 10, 64)
			valid = err == nil
		}
	}
	result, inputs := numbers[0], integerInputs{Min: numbers[1], Max: numbers[2]}
	if !valid || result < inputs.Min || result > inputs.Max {
		return guest.ReadResponse[integerInputs, integerState]{}, guest.InvalidArgument("",
			"the ID to import must be result,min,max or result,min,max,seed, for example 7,1,10")
	}
	if len(parts) == 4 {
		inputs.Seed = &parts[3]
	}
	return guest.ReadResponse[integerInputs, integerState]{ID: parts[0], Inputs: inputs, State: integerState{inputs, result}}, nil
}
