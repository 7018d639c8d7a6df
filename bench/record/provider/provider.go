// Package provider has two types of resource with the same inputs: three properties that
// are looked at, and any others that are passed on. The Check and Diff of a Record are the author's code; a Declared's are the
// schema's own.
package provider

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// The types of resource.
const (
	RecordType   = "record:index:Record"
	DeclaredType = "record:index:Declared"
)

// Words is a function that returns the words of a text one by one.
const Words = "record:index:words"

// New returns the provider, which holds nothing and can be used any number of times.
func New() guest.Provider {
	return guest.Provider{
		Name:    "record",
		Version: "1.0.0",
		Resources: []guest.Resource{
			guest.ResourceOf(RecordType, Record{}),
			guest.ResourceOf(DeclaredType, Declared{}),
		},
		Streams: []guest.Stream{guest.StreamOf(Words, words)},
	}
}

// Inputs are the inputs of both types.
type Inputs struct {
	Title    string       `husk:"title,replace"`
	Priority int          `husk:"priority,default=1,min=0,max=9"`
	Class    string       `husk:"class,default=standard,oneof=standard|archive"`
	Content  property.Map `husk:"content,optional"`
}

// State is the state of both types.
type State struct{ Inputs }

// Record is the type with a Check and a Diff of its own.
type Record struct{}

// Check refuses archives that are urgent.
func (Record) Check(_ context.Context, r guest.CheckRequest[Inputs]) ([]guest.CheckFailure, error) {
	in := r.Inputs
	in.Title = strings.TrimSpace(in.Title)
	if in.Class == "archive" && in.Priority > 5 {
		return []guest.CheckFailure{{Path: "priority", Reason: "must be at most 5 for an archive"}}, nil
	}
	return nil, nil
}

// Diff takes a title in other letters for the same.
func (Record) Diff(_ context.Context, r guest.DiffRequest[Inputs, State]) (guest.DiffResponse, error) {
	found := r.Default
	if !strings.EqualFold(r.Inputs.Title, r.State.Title) {
		return found, nil
	}
	found.DetailedDiff = slices.DeleteFunc(found.DetailedDiff, func(change abi.PropertyDiff) bool { return change.Path == "title" })
	return found, nil
}

// Create has nothing to make.
func (Record) Create(_ context.Context, r guest.CreateRequest[Inputs]) (guest.CreateResponse[State], error) {
	return guest.CreateResponse[State]{ID: r.Inputs.Title, State: State{r.Inputs}}, nil
}

// Declared is the type whose Check and Diff are the schema's.
type Declared struct{}

// Create has nothing to make.
func (Declared) Create(ctx context.Context, r guest.CreateRequest[Inputs]) (guest.CreateResponse[State], error) {
	return Record{}.Create(ctx, r)
}

type wordsArgs struct {
	Text string `husk:"text"`
}

type wordsResult struct {
	Word string `husk:"word"`
}

// words returns the words of a text one by one.
func words(_ context.Context, args wordsArgs) iter.Seq2[wordsResult, error] {
	return func(yield func(wordsResult, error) bool) {
		for word := range strings.FieldsSeq(args.Text) {
			if !yield(wordsResult{word}, nil) {
				return
			}
		}
	}
}
