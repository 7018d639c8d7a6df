package bareengine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// Bag is the inputs of a resource: three properties, and others that the provider passes on.
type Bag struct {
	Name    string
	content func() property.Map
	// resources is how many have one, and are asked about in turn.
	resources int
}

// Bags returns all, smaller ones first.
func Bags() []Bag {
	return []Bag{
		Small(),
		{"10 KB", func() property.Map { return texts(97, 90) }, 16},
		{"100 KB nested", func() property.Map { return objects(100) }, 4},
		{"100 KB flat", func() property.Map { return texts(10, 10<<10) }, 4},
		{"1 MB nested", func() property.Map { return objects(1000) }, 2},
	}
}

// Small returns a bag like most resources': ten properties.
func Small() Bag { return Bag{"1 KB", func() property.Map { return texts(7, 90) }, 16} }

// objects has so many objects of ten texts, which take 1 KB each.
func objects(n int) property.Map {
	entries := make([]property.Entry, n)
	for i := range entries {
		entries[i] = property.Entry{Key: fmt.Sprintf("object%04d", i), Value: property.Object(texts(10, 90))}
	}
	return property.NewMap(entries...)
}

// texts has so many strings of that size in bytes.
func texts(n, size int) property.Map {
	entries := make([]property.Entry, n)
	for i := range entries {
		entries[i] = property.Entry{Key: fmt.Sprintf("key%05d", i), Value: property.String(strings.Repeat("x", size))}
	}
	return property.NewMap(entries...)
}

func (b Bag) inputs() property.Map {
	return property.NewMap(
		property.Entry{Key: "title", Value: property.String("a title")},
		property.Entry{Key: "priority", Value: property.Number(3)},
		property.Entry{Key: "class", Value: property.String("standard")},
		property.Entry{Key: "content", Value: property.Object(b.content())},
	)
}

// Question has the calls of an update for one resource that does not change.
type Question struct {
	urn  urn.URN
	kind string
	// news are the program's inputs; inputs and state are recorded. They are equal, and have nothing in common.
	news, inputs, state property.Map
}

// Question returns the question about a resource of the type with these inputs.
func (b Bag) Question(kind string) Question {
	return Question{urn.New("bench", "dev", "", kind, "it"), kind, b.inputs(), b.inputs(), b.inputs()}
}

// Questions are about several resources, one after the other, so that nothing is asked that was
// asked just before.
type Questions struct {
	questions []Question
	next      int
}

// Questions returns those about resources of the type with these inputs.
func (b Bag) Questions(kind string) *Questions {
	q := &Questions{questions: make([]Question, b.resources)}
	for i := range q.questions {
		q.questions[i] = b.Question(kind)
	}
	return q
}

// Ask asks the next one, see [Question.Ask].
func (q *Questions) Ask(ctx context.Context, p abi.Provider) (check, diff time.Duration, err error) {
	question := q.questions[q.next]
	q.next = (q.next + 1) % len(q.questions)
	return question.Ask(ctx, p)
}

// Check asks whether the inputs are valid.
func (q Question) Check(ctx context.Context, p abi.Provider) (property.Map, error) {
	checked, err := p.Check(ctx, abi.CheckRequest{URN: q.urn, Name: "it", Type: q.kind, Olds: &q.inputs, News: q.news})
	if err != nil {
		return property.Map{}, err
	}
	if len(checked.Failures) > 0 {
		return property.Map{}, fmt.Errorf("%s: %s", checked.Failures[0].Path, checked.Failures[0].Reason)
	}
	return checked.Inputs, nil
}

// Ask returns the times of a Check, and of a Diff of its answer.
func (q Question) Ask(ctx context.Context, p abi.Provider) (check, diff time.Duration, err error) {
	start := time.Now()
	checked, err := q.Check(ctx, p)
	if err != nil {
		return 0, 0, err
	}
	check = time.Since(start)
	start = time.Now()
	found, err := p.Diff(ctx, abi.DiffRequest{
		URN: q.urn, Name: "it", Type: q.kind, ID: "a title", Olds: q.state, News: checked, OldInputs: q.inputs,
	})
	if err != nil {
		return 0, 0, err
	}
	diff = time.Since(start)
	if found.Changes != abi.DiffChangesNone {
		return 0, 0, fmt.Errorf("the provider found %s changes where there are none", found.Changes)
	}
	return check, diff, nil
}
