package automation_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/automation"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

const project = `
name: lottery
runtime: yaml
plugins:
  providers:
    - name: random
      path: random.wasm
resources:
  draw:
    type: random:RandomInteger
    properties: {min: 7, max: 7}
outputs:
  number: ${draw.result}
`

// newProject makes a project with the provider random in a directory.
func newProject(dir string) error {
	module, err := testmodule.Bytes("../examples/providers/random")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "random.wasm"), module, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(project), 0o600)
}

// A program deploys a project, reads its outputs, and takes everything away again.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lottery")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := newProject(dir); err != nil {
		log.Fatal(err)
	}

	p, err := automation.Open(ctx, dir, automation.Options{})
	if err != nil {
		log.Fatal(err)
	}
	stack, err := p.Stack("dev")
	if err != nil {
		log.Fatal(err)
	}
	steps := automation.RunOptions{Events: func(e engine.Event) {
		if done, ok := e.(engine.StepDone); ok && !done.Step.DefaultProvider && done.Step.Custom {
			fmt.Println(done.Step.Op, done.Step.Name)
		}
	}}
	if _, err := stack.Run(ctx, engine.Up{}, steps); err != nil {
		log.Fatal(err)
	}
	outputs, err := stack.Outputs(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("number:", property.Display(outputs.Get("number")))
	if _, err := stack.Run(ctx, engine.Destroy{}, steps); err != nil {
		log.Fatal(err)
	}
	// Output:
	// create draw
	// number: 7
	// delete draw
}
