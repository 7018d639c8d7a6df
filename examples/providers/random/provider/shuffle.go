package provider

import (
	"context"
	"slices"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

type shuffleInputs struct {
	keepers
	Inputs      []string `husk:"inputs" doc:"The list."`
	ResultCount *int     `husk:"resultCount,min=0,max=1048576" doc:"How many elements to answer; as many as the list has where it is 0 or not given. More than that repeat elements, but none comes again before all others have."`
	Seed        *string  `husk:"seed" doc:"Any text. The same text gives the same order of the same list again."`
}

type shuffleState struct {
	shuffleInputs
	Results []string `husk:"results" doc:"The elements in random order."`
}

// Shuffle is the resource RandomShuffle.
type Shuffle struct{}

// Create draws orders of the list until there are results enough.
func (Shuffle) Create(_ context.Context, r guest.CreateRequest[shuffleInputs]) (guest.CreateResponse[shuffleState], error) {
	list := r.Inputs.Inputs
	count := len(list)
	if n := r.Inputs.ResultCount; n != nil && *n > 0 {
		count = *n
	}
	order := orders(len(list), r.Inputs.Seed)
	results := []string{}
	for len(list) > 0 && len(results) < count {
		indexes, err := order()
		if err != nil {
			return guest.CreateResponse[shuffleState]{}, err
		}
		for _, i := range indexes[:min(len(indexes), count-len(results))] {
			results = append(results, list[i])
		}
	}
	return guest.CreateResponse[shuffleState]{ID: "-", State: shuffleState{r.Inputs, results}}, nil
}

// orders returns a function that draws an order of the numbers from 0 to n-1.
func orders(n int, seed *string) func() ([]int, error) {
	if seed != nil && *seed != "" {
		source := seeded(*seed)
		return func() ([]int, error) { return source.Perm(n), nil }
	}
	ascending := make([]int, n)
	for i := range ascending {
		ascending[i] = i
	}
	return func() ([]int, error) {
		indexes := slices.Clone(ascending)
		return indexes, shuffle(indexes)
	}
}
