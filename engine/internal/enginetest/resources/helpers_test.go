package resources_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// aliased gives a resource aliases.
func aliased(aliases ...abi.Alias) func(*abi.ResourceOptions) {
	return func(o *abi.ResourceOptions) { o.Aliases = aliases }
}

// mustText returns the text of a value, empty if it is none.
func mustText(v property.Value) string {
	s, _ := v.AsString()
	return s
}

// targeting is an option of [Stack].Edit.
func targeting(sel engine.Selection) func(*enginetest.Deployment) {
	return func(d *enginetest.Deployment) { d.Selection = sel }
}

// jsonOf returns a value as JSON.
func jsonOf(t *testing.T, v any) string {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// failing has calls of the cloud fail.
func failing(s *enginetest.Stack, calls ...string) {
	s.Cloud.Hook = func(call string) error {
		if slices.Contains(calls, call) {
			return errors.New("no luck")
		}
		return nil
	}
}

// referenceTo returns a reference to a resource.
func referenceTo(r enginetest.Resource, custom bool) property.Value {
	return property.Reference(property.ResourceReference{
		URN: string(r.URN), HasID: custom, ID: r.ID, PackageVersion: "1.0.0",
	})
}

// pairs registers a -> b (b takes from a), and c on its own, with a key for each.
func pairs(a, b, c string) enginetest.Program {
	return func(p *enginetest.Run) error {
		ra, errA := p.Custom(enginetest.Strict, "a", enginetest.Props("key", a))
		rb, errB := p.Custom(enginetest.Plain, "b", enginetest.Props("key", b, "from", ra.Out("made")))
		rc, errC := p.Custom(enginetest.Plain, "c", enginetest.Props("key", c))
		return errors.Join(errA, errB, errC, p.Outputs(enginetest.Props("b", rb.Out("made"), "c", rc.Out("made"))))
	}
}

// fan registers n resources that depend on nothing, at most 64 at once.
func fan(n int) enginetest.Program {
	return func(p *enginetest.Run) error {
		var wg sync.WaitGroup
		slots := make(chan struct{}, 64)
		errs := make(chan error, n)
		for i := range n {
			slots <- struct{}{}
			wg.Go(func() {
				_, err := p.Custom(enginetest.Plain, fmt.Sprintf("r%06d", i), enginetest.Props("a", i, "b", "text", "c", true))
				errs <- err
				<-slots
			})
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// files registers a file for each name and path.
func files(typ, mode string, namesAndPaths ...string) enginetest.Program {
	return func(p *enginetest.Run) error {
		var errs []error
		for i := 0; i < len(namesAndPaths); i += 2 {
			_, err := p.Custom(typ, namesAndPaths[i], enginetest.Props("path", namesAndPaths[i+1], "mode", mode))
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
}

// reasons returns why the last operation replaced each resource.
func reasons(s *enginetest.Stack) map[string]string {
	out := make(map[string]string)
	for _, e := range s.Events() {
		if done, ok := e.(engine.StepDone); ok && done.Step.Op == engine.OpCreateReplacement {
			out[done.Step.Name] = done.Step.Reason
		}
	}
	return out
}
