package main

import (
	"context"
	"errors"

	"github.com/husk-dev/husk/bench/internal/bareengine"
	"github.com/husk-dev/husk/bench/internal/peer"
	"github.com/husk-dev/husk/bench/internal/programs"
	record "github.com/husk-dev/husk/bench/record/provider"
)

// natives is the memory of the average native process.
type natives struct{ idle, called memory }

// processesOf starts n native processes of the command in a directory. All run at once.
func processesOf(ctx context.Context, dir string, n int) (of natives, err error) {
	command, err := programs.Command(ctx, dir)
	if err != nil {
		return of, err
	}
	var all []*peer.Process
	defer func() {
		for _, p := range all {
			err = errors.Join(err, p.Close())
		}
	}()
	for range n {
		p, err := peer.Start(ctx, command, bareengine.Configuration())
		if err != nil {
			return of, err
		}
		all = append(all, p)
	}
	if of.idle, err = average(all); err != nil {
		return of, err
	}
	question := bareengine.Small().Question(record.RecordType)
	for _, p := range all {
		if _, err := question.Check(ctx, p.Provider); err != nil {
			return of, err
		}
	}
	of.called, err = average(all)
	return of, err
}

func average(all []*peer.Process) (memory, error) {
	var sum memory
	for _, p := range all {
		m, err := memoryOf(p.PID)
		if err != nil {
			return memory{}, err
		}
		sum = sum.plus(m)
	}
	return sum.over(len(all)), nil
}
