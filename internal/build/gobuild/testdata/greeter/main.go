// Command greeter is a provider that says everything in doc comments, or nearly.
package main

import (
	"context"
	"iter"

	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/internal/build/gobuild/testdata/greeter/words"
)

// Config says how all greetings are made.
type Config struct {
	// Language is that of the greetings.
	Language string `husk:"language,optional"`
}

// GreetingInputs are a greeting's.
type GreetingInputs struct {
	// Name is who is greeted:
	// everybody, where it is empty.
	//
	//	name: you
	//
	// See [Greeting].
	Name string     `husk:"name,optional"`
	Mark string     `husk:"mark,optional" doc:"The tag says it."` // Not the comment.
	Tone words.Tone `husk:"tone,optional"`                        // Tone is how it sounds.
	None string     `husk:"none,optional"`
}

// Greeting is a "greeting" in words.
type Greeting struct{}

// Create greets.
func (Greeting) Create(_ context.Context, r guest.CreateRequest[GreetingInputs]) (guest.CreateResponse[GreetingInputs], error) {
	return guest.CreateResponse[GreetingInputs]{ID: r.Name, State: r.Inputs}, nil
}

// Nothing is what functions take and give.
type Nothing struct{}

// shout says it loudly.
func shout(context.Context, Nothing) (Nothing, error) { return Nothing{}, nil }

type echo struct{}

// repeat says it again.
func (*echo) repeat(context.Context, Nothing) iter.Seq2[Nothing, error] {
	return func(func(Nothing, error) bool) {}
}

func main() {
	guest.Serve(guest.Provider{
		Name: "greeter", Version: "1.0.0",
		Config: guest.ConfigOf(func(context.Context, Config) error { return nil }),
		Resources: []guest.Resource{
			guest.ResourceOf("greeter:index:Greeting", Greeting{}),
			guest.ResourceOf("greeter:index:Other", &Greeting{}, guest.Doc("The option says it.")),
		},
		Functions: []guest.Function{
			guest.FunctionOf("greeter:index:shout", shout),
			guest.FunctionOf("greeter:index:whisper", words.Whisper),
		},
		Streams: []guest.Stream{guest.StreamOf("greeter:index:repeat", new(echo).repeat)},
	})
}
