package provider

import (
	"context"
	"strings"
	"sync"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

type petInputs struct {
	keepers
	Length    int     `husk:"length,default=2,max=1024" doc:"How many words the name has, without the prefix; 2 where it is less than 1."`
	Prefix    *string `husk:"prefix" doc:"What stands before the name."`
	Separator string  `husk:"separator,default=-" doc:"What stands between the words."`
}

type petState struct{ petInputs }

// Pet is the resource RandomPet.
type Pet struct{}

// The lists are split for the first name, because that takes longer than all else.
var (
	adverbWords    = sync.OnceValue(func() []string { return strings.Fields(adverbs) })
	adjectiveWords = sync.OnceValue(func() []string { return strings.Fields(adjectives) })
	animalWords    = sync.OnceValue(func() []string { return strings.Fields(animals) })
)

// Create draws the name: an animal, an adjective before it, and adverbs before that.
func (Pet) Create(_ context.Context, r guest.CreateRequest[petInputs]) (guest.CreateResponse[petState], error) {
	in := r.Inputs
	var words []string
	if in.Prefix != nil && *in.Prefix != "" {
		words = append(words, *in.Prefix)
	}
	count := in.Length
	if count < 1 {
		count = 2 // as Pulumi's provider has it
	}
	for left := count; left > 0; left-- {
		list := adverbWords
		switch left {
		case 1:
			list = animalWords
		case 2:
			list = adjectiveWords
		}
		word, err := pick(list())
		if err != nil {
			return guest.CreateResponse[petState]{}, err
		}
		words = append(words, word)
	}
	return guest.CreateResponse[petState]{ID: strings.Join(words, in.Separator), State: petState{in}}, nil
}
