package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// bag is the inputs of a resource: three properties, and others that the provider passes on.
type bag struct {
	name    string
	content func() property.Map
	// rare divides the number of rounds, since large bags take long.
	rare int
}

var bags = []bag{
	{"1 KB", func() property.Map { return strings90(7) }, 1},
	{"10 KB", func() property.Map { return strings90(97) }, 1},
	{"100 KB nested", func() property.Map { return objects(100) }, 2},
	{"100 KB flat", func() property.Map { return blobs(10, 10<<10) }, 2},
	{"1 MB nested", func() property.Map { return objects(1000) }, 10},
}

// strings90 has so many strings, which with their keys take 100 bytes each.
func strings90(n int) property.Map { return blobs(n, 90) }

// objects has so many objects of ten strings, which take 1 KB each.
func objects(n int) property.Map {
	entries := make([]property.Entry, n)
	for i := range entries {
		entries[i] = property.Entry{Key: fmt.Sprintf("object%04d", i), Value: property.Object(strings90(10))}
	}
	return property.NewMap(entries...)
}

// blobs has so many strings of that size in bytes.
func blobs(n, size int) property.Map {
	entries := make([]property.Entry, n)
	for i := range entries {
		entries[i] = property.Entry{Key: fmt.Sprintf("key%05d", i), Value: property.String(strings.Repeat("x", size))}
	}
	return property.NewMap(entries...)
}

func (b bag) inputs() property.Map {
	return property.NewMap(
		property.Entry{Key: "title", Value: property.String("a title")},
		property.Entry{Key: "priority", Value: property.Number(3)},
		property.Entry{Key: "class", Value: property.String("standard")},
		property.Entry{Key: "content", Value: property.Object(b.content())},
	)
}

// question is what is asked about one resource that does not change.
type question struct {
	urn  urn.URN
	kind string
	// news is what the program says, inputs and state are what is recorded. They are equal,
	// and have nothing in common.
	news, inputs, state property.Map
}

func (b bag) question(kind string) question {
	return question{urn.New("bench", "call", "", kind, "it"), kind, b.inputs(), b.inputs(), b.inputs()}
}

// ask returns the times of one Check and one Diff.
func (q question) ask(ctx context.Context, p abi.Provider) (check, diff time.Duration, err error) {
	start := time.Now()
	checked, err := p.Check(ctx, abi.CheckRequest{URN: q.urn, Name: "it", Type: q.kind, Olds: &q.inputs, News: q.news})
	if err != nil {
		return 0, 0, err
	}
	check = time.Since(start)
	if len(checked.Failures) > 0 {
		return 0, 0, fmt.Errorf("%s: %s", checked.Failures[0].Path, checked.Failures[0].Reason)
	}
	start = time.Now()
	found, err := p.Diff(ctx, abi.DiffRequest{
		URN: q.urn, Name: "it", Type: q.kind, ID: "a title", Olds: q.state, News: checked.Inputs, OldInputs: q.inputs,
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
