package adapter

import (
	"context"
	"errors"
	"testing"

	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// stopping is a server that stops in its own way.
type stopping struct {
	tf.Server
	stop func() error
}

func (s stopping) Stop(context.Context) error { return s.stop() }

// A provider that cannot stop has done what it was asked for all the same.
func TestAProviderThatCannotStop(t *testing.T) {
	for name, stop := range map[string]func() error{
		"stops":  func() error { return nil },
		"fails":  func() error { return errors.New("not implemented") },
		"panics": func() error { panic("not implemented") },
	} {
		t.Run(name, func(t *testing.T) {
			if err := (&provider{server: stopping{stop: stop}}).Cancel(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
