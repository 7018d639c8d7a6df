package yamlprogram_test

import (
	"context"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/yamlprogram"
	"github.com/husk-dev/husk/engine/projectroot"
)

// noSchemas knows every package, but nothing about any.
type noSchemas struct{}

func (noSchemas) Package(context.Context, program.Package) (*schema.Package, error) { return nil, nil }

// A program is checked without running it; the diagnostics are for people.
func ExampleProgram_Check() {
	project, err := program.ParseProject(context.Background(), projectroot.New("/shop", projectroot.Trusted), "Husk.yaml", []byte(`name: shop
resources:
  pet:
    type: random:index:RandomPet
outputs:
  greeting: Hello, ${pte.id}!
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	run := abi.RunContext{Project: project.Name, Stack: "dev", DryRun: true}
	diagnostics, err := yamlprogram.New(project, noSchemas{}).Check(context.Background(), run)
	fmt.Println(diagnostics.Error(), err)
	// Output:
	// Husk.yaml:6:22: there is no resource, variable, or configuration key "pte"; did you mean "pet"?
	//     6 |   greeting: Hello, ${pte.id}!
	//       |                      ^ <nil>
}
