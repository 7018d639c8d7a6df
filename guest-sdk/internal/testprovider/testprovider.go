// Package testprovider has the provider "zoo" for the tests of the SDK. Its resource has a field
// of each kind, implements every method of a resource, and fails on request.
package testprovider

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// Config is the provider's configuration.
type Config struct {
	Region string `husk:"region,default=north,replace" doc:"Where the zoo is."`
	Token  string `husk:"token,secret" doc:"What opens the zoo's gate."`
	Depth  *int   `husk:"depth"`
}

// Home is where an animal lives.
type Home struct {
	Street string `husk:"street"`
	Rooms  int8   `husk:"rooms,default=1,replace"`
	Key    string `husk:"key,optional,secret"`
	Annex  *Home  `husk:"annex"`
}

// AnimalInputs are the inputs of an animal.
type AnimalInputs struct {
	Name     string             `husk:"name,replace" doc:"What it is called."`
	Legs     int                `husk:"legs,default=4,min=0,max=8"`
	Weight   float64            `husk:"weight,optional"`
	Tame     *bool              `husk:"tame"`
	Tags     map[string]string  `husk:"tags,optional"`
	Diet     []string           `husk:"diet,optional"`
	Home     *Home              `husk:"home"`
	Sizes    []Home             `husk:"sizes,optional"`
	Visits   map[string]*Home   `husk:"visits,optional"`
	Scores   map[string][]int16 `husk:"scores,optional"`
	Notes    property.Value     `husk:"notes,optional"`
	Password string             `husk:"password,optional,secret"`
	Handle   string             `husk:"handle,computed"`
}

// AnimalState is the state of an animal.
type AnimalState struct {
	AnimalInputs
	Sound  string `husk:"sound"`
	Number int    `husk:"number,stable"`
	Chip   string `husk:"chip,secret"`
}

// Animal is a resource that implements everything. Its name decides what happens, such as wait.
type Animal struct {
	mu    sync.Mutex
	count int
}

func (a *Animal) state(in AnimalInputs, number int) AnimalState {
	return AnimalState{AnimalInputs: in, Sound: sound(in), Number: number, Chip: "chip-" + in.Name}
}

func sound(in AnimalInputs) string { return strings.Repeat("grr", in.Legs) }

// Create makes an animal.
func (a *Animal) Create(ctx context.Context, r guest.CreateRequest[AnimalInputs]) (guest.CreateResponse[AnimalState], error) {
	a.mu.Lock()
	a.count++
	number := a.count
	a.mu.Unlock()
	guest.Log(ctx).Info("creating " + r.Inputs.Name)
	response := guest.CreateResponse[AnimalState]{ID: "animal-" + r.Inputs.Name, State: a.state(r.Inputs, number)}
	switch r.Inputs.Name {
	case "unhealthy":
		return response, guest.InitFailed("it limps", "it coughs")
	case "exhausted":
		return response, errors.New("it fell asleep")
	case "broken":
		return guest.CreateResponse[AnimalState]{}, errors.New("no such animal can exist")
	case "anonymous":
		return guest.CreateResponse[AnimalState]{}, nil
	case "huge":
		response.State.Number = 1<<53 + 1
	case "wait":
		<-ctx.Done()
		return response, ctx.Err()
	case "panic":
		panic("it bites")
	}
	return response, nil
}

// Read finds an animal as it is recorded, a year older.
func (a *Animal) Read(_ context.Context, r guest.ReadRequest[AnimalInputs, AnimalState]) (guest.ReadResponse[AnimalInputs, AnimalState], error) {
	if r.State == nil {
		name, ok := strings.CutPrefix(r.ID, "animal-")
		if !ok {
			return guest.ReadResponse[AnimalInputs, AnimalState]{}, guest.InvalidArgument("", "an animal's ID begins with animal-")
		}
		in := AnimalInputs{Name: name, Legs: 4, Handle: "h-" + name}
		return guest.ReadResponse[AnimalInputs, AnimalState]{Inputs: in, State: a.state(in, 7)}, nil
	}
	if r.State.Name == "gone" {
		return guest.ReadResponse[AnimalInputs, AnimalState]{}, guest.NotFound("it ran away")
	}
	state := *r.State
	state.Weight++
	return guest.ReadResponse[AnimalInputs, AnimalState]{Inputs: *r.Inputs, State: state}, nil
}

// Update changes an animal.
func (a *Animal) Update(_ context.Context, r guest.UpdateRequest[AnimalInputs, AnimalState]) (guest.UpdateResponse[AnimalState], error) {
	if r.Inputs.Weight < 0 {
		return guest.UpdateResponse[AnimalState]{}, guest.InvalidArgument("weight", "an animal weighs something")
	}
	response := guest.UpdateResponse[AnimalState]{State: a.state(r.Inputs, r.State.Number)}
	if r.Inputs.Name == "huge" {
		response.State.Number = 1<<53 + 1
	}
	if r.Inputs.Weight > 1000 {
		return response, guest.InitFailed("it is too heavy")
	}
	return response, nil
}

// Delete lets an animal go.
func (a *Animal) Delete(_ context.Context, r guest.DeleteRequest[AnimalState]) error {
	switch r.State.Name {
	case "gone":
		return guest.NotFound("it ran away")
	case "broken":
		return guest.Unavailable("the gate is closed")
	}
	return nil
}

// Check gives an animal its handle, and counts its legs.
func (a *Animal) Check(_ context.Context, r guest.CheckRequest[AnimalInputs]) ([]guest.CheckFailure, error) {
	if r.Inputs.Handle == "" && r.Known("name") {
		r.Inputs.Handle = "h-" + r.Inputs.Name
	}
	if r.Known("name") && r.Inputs.Name == "" {
		return []guest.CheckFailure{{Path: "name", Reason: "must not be empty"}}, nil
	}
	if r.Inputs.Home != nil {
		r.Inputs.Home.Street = strings.TrimSpace(r.Inputs.Home.Street)
	}
	if r.Known("legs") && r.Inputs.Legs%2 == 1 {
		return []guest.CheckFailure{{Path: "legs", Reason: "must be even, not " + strconv.Itoa(r.Inputs.Legs)}}, nil
	}
	return nil, nil
}

// Diff ignores the tag of the zoo, and replaces an animal that loses legs.
func (a *Animal) Diff(_ context.Context, r guest.DiffRequest[AnimalInputs, AnimalState]) (guest.DiffResponse, error) {
	response := r.Default
	response.DetailedDiff = nil
	for _, change := range r.Default.DetailedDiff {
		switch {
		case change.Path == "tags.zoo":
			continue
		case change.Path == "legs" && r.Known("legs") && r.Inputs.Legs < r.State.Legs:
			change.Kind = guest.UpdateReplace
		}
		response.DetailedDiff = append(response.DetailedDiff, change)
	}
	if r.Known("legs") && r.Inputs.Legs == 8 && r.State.Legs != 8 { // a spider gets another handle
		response.DetailedDiff = append(response.DetailedDiff, abi.PropertyDiff{Path: "handle", Kind: guest.Update})
	}
	return response, nil
}

// Preview foretells the sound.
func (a *Animal) Preview(_ context.Context, r guest.PreviewRequest[AnimalInputs, AnimalState]) (guest.PreviewResponse[AnimalState], error) {
	return guest.PreviewResponse[AnimalState]{
		State: AnimalState{Sound: sound(r.Inputs)}, Known: []string{"sound"},
	}, nil
}

// PlaqueInputs are the inputs of a plaque, which can only be made and replaced.
type PlaqueInputs struct {
	Text  string `husk:"text"`
	Font  string `husk:"font,default=serif,oneof=serif|sans"`
	Extra *int32 `husk:"extra"`
	// Of and Trees are resources of this package and of another.
	Of    *property.ResourceReference  `husk:"of,resource=zoo:index/animal:Animal" doc:"Whom it tells of."`
	Trees []property.ResourceReference `husk:"trees,optional,resource=/park/v1.0.0/schema.json#/resources/park:index%2Ftree:Tree"`
	Place string                       `husk:"place,optional" doc:"The ID of what it hangs on."`
}

// PlaqueState is the state of a plaque.
type PlaqueState struct {
	PlaqueInputs
	Area int `husk:"area"`
}

// Plaque is a resource with nothing but Create.
type Plaque struct{}

// Create makes a plaque.
func (Plaque) Create(_ context.Context, r guest.CreateRequest[PlaqueInputs]) (guest.CreateResponse[PlaqueState], error) {
	return guest.CreateResponse[PlaqueState]{ID: "plaque", State: PlaqueState{r.Inputs, len(r.Inputs.Text)}}, nil
}

// List lists five plaques, two at a time unless fewer are wanted, or those whose text is asked for.
func (Plaque) List(_ context.Context, r guest.ListRequest) (guest.ListResponse, error) {
	if text, ok := r.Query.Get("text").AsString(); ok {
		return guest.ListResponse{Resources: []guest.ListedResource{{ID: "plaque-" + text, Name: text}}}, nil
	}
	first := 0
	if r.ContinuationToken != "" {
		var err error
		if first, err = strconv.Atoi(r.ContinuationToken); err != nil {
			return guest.ListResponse{}, guest.InvalidArgument("", "there is no page "+r.ContinuationToken)
		}
	}
	all := []string{"a", "b", "c", "d", "e"}
	if r.Limit > 0 {
		all = all[:min(len(all), int(r.Limit))]
	}
	size := 2
	if r.PageSize > 0 {
		size = min(size, int(r.PageSize))
	}
	var page guest.ListResponse
	for _, name := range all[first:min(len(all), first+size)] {
		page.Resources = append(page.Resources, guest.ListedResource{ID: "plaque-" + name, Name: name})
	}
	if next := first + size; next < len(all) {
		page.ContinuationToken = strconv.Itoa(next)
	}
	return page, nil
}

// GreetArgs are the arguments of greet.
type GreetArgs struct {
	Name  string `husk:"name"`
	Times int    `husk:"times,default=1,max=3"`
}

// GreetResult is the result of greet.
type GreetResult struct {
	Text   string `husk:"text"`
	Region string `husk:"region"`
}

// ParadeArgs are the arguments of parade.
type ParadeArgs struct {
	Length int    `husk:"length"`
	Lost   int    `husk:"lost,default=-1" doc:"The animal at which it fails."`
	Banner string `husk:"banner,optional,secret"`
}

// Marching is one result of parade.
type Marching struct {
	Number int    `husk:"number"`
	Banner string `husk:"banner"`
}

func parade(_ context.Context, args ParadeArgs) iter.Seq2[Marching, error] {
	return func(yield func(Marching, error) bool) {
		for i := range args.Length {
			if i == args.Lost {
				yield(Marching{}, guest.NotFound("animal "+strconv.Itoa(i)+" has run away"))
				return
			}
			if !yield(Marching{i, args.Banner}, nil) {
				return
			}
		}
	}
}

// PassArgs are the arguments of a Pass.
type PassArgs struct {
	Visitor string `husk:"visitor"`
	Hours   int    `husk:"hours,default=1,max=24"`
}

// PassResult is a Pass that is open.
type PassResult struct {
	Code string `husk:"code,secret"`
}

// Pass opens the gate for some hours. The name of the visitor decides what happens.
type Pass struct{}

// Open makes a pass.
func (Pass) Open(_ context.Context, args PassArgs) (guest.Opened[PassResult], error) {
	if args.Visitor == "nobody" {
		return guest.Opened[PassResult]{}, guest.NotFound("there is nobody")
	}
	return guest.Opened[PassResult]{
		Value: PassResult{Code: "code of " + args.Visitor},
		Lease: guest.Lease{Private: []byte(args.Visitor), RenewAfter: time.Duration(args.Hours) * time.Hour},
	}, nil
}

// Renew keeps a pass valid, and counts in its private bytes.
func (Pass) Renew(_ context.Context, private []byte) (guest.Lease, error) {
	if string(private) == "lost" {
		return guest.Lease{}, guest.NotFound("the pass is lost")
	}
	return guest.Lease{Private: append(private, '+')}, nil
}

// Close makes a pass invalid.
func (Pass) Close(_ context.Context, private []byte) error {
	if string(private) == "lost" {
		return guest.NotFound("the pass is lost")
	}
	return nil
}

// FeedArgs are the arguments of the action feed.
type FeedArgs struct {
	Food string `husk:"food"`
}

// Exists reports whether the animal is there.
func (a *Animal) Exists(_ context.Context, r guest.ExistsRequest) (bool, error) {
	if r.ID == "animal-hidden" {
		return false, errors.New("nobody can see it")
	}
	return r.ID != "animal-gone", nil
}

// Provider returns the provider, with state of its own.
func Provider() guest.Provider {
	var config Config
	return guest.Provider{
		Name: "zoo", Version: "1.2.3", DisplayName: "Zoo", Description: "Animals.", License: "Apache-2.0",
		Keywords: []string{"animals"},
		Requests: []abi.CapabilityRequest{{Capability: "http", Scope: "https://zoo.example.org", Reason: "the gate", Optional: true}},
		Config: guest.ConfigOf(func(_ context.Context, c Config) error {
			if c.Token == "wrong" {
				return guest.InvalidArgument("token", "the gate stays closed")
			}
			config = c
			return nil
		}),
		Mappings: []guest.Mapping{
			{Key: "terraform", Provider: "menagerie", Data: []byte("animals")}, {Key: "terraform", Provider: "aquarium", Data: []byte("fish")},
		},
		Resources: []guest.Resource{
			guest.ResourceOf("zoo:index/plaque:Plaque", Plaque{}, guest.DeleteBeforeReplace()),
			guest.ResourceOf("zoo:index/animal:Animal", &Animal{}, guest.Doc("An animal."), guest.Alias("zoo:old:Beast")),
		},
		Functions: []guest.Function{
			guest.FunctionOf("zoo:index/greet:greet", func(_ context.Context, args GreetArgs) (GreetResult, error) {
				if args.Name == "nobody" {
					return GreetResult{}, guest.NotFound("there is nobody")
				}
				return GreetResult{Text: strings.Repeat("Hello, "+args.Name+"! ", args.Times), Region: config.Region}, nil
			}, guest.Doc("Greets.")),
		},
		Ephemerals: []guest.Ephemeral{guest.EphemeralOf("zoo:index/pass:pass", Pass{})},
		Actions: []guest.Action{guest.ActionOf("zoo:index/feed:feed", func(ctx context.Context, args FeedArgs) error {
			if args.Food == "poison" {
				return guest.InvalidArgument("food", "the keeper refuses")
			}
			guest.Log(ctx).Info("feeding " + args.Food)
			return nil
		}, guest.Doc("Feeds all animals."))},
		Streams: []guest.Stream{
			guest.StreamOf("zoo:index/parade:parade", parade, guest.Doc("The animals, one by one.")),
		},
	}
}
