package schema_test

import (
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// password is a resource type whose length has a default and a minimum.
func password() *schema.Resource {
	least := 1.0
	length := schema.Property{Name: "length", Type: &schema.Type{Kind: schema.KindInteger}, Default: property.Number(16), Minimum: &least, Replace: true}
	return &schema.Resource{
		Token:   "random:index:Password",
		Inputs:  schema.Object{Properties: []schema.Property{length}},
		Outputs: schema.Object{Properties: []schema.Property{length}},
	}
}

func ExampleObject_Check() {
	checked, _ := password().Inputs.Check(property.Map{})
	fmt.Println(checked)

	_, failures := password().Inputs.Check(property.NewMap(property.Entry{Key: "lenght", Value: property.Number(0)}))
	for _, f := range failures {
		fmt.Println(f.Path+":", f.Reason)
	}
	// Output:
	// {length: 16}
	// lenght: no such property; did you mean "length"?
}

func ExampleResource_Diff() {
	old := property.NewMap(property.Entry{Key: "length", Value: property.Number(16)})
	diff, err := password().Diff(abi.DiffRequest{
		OldInputs: old, Olds: old,
		News: property.NewMap(property.Entry{Key: "length", Value: property.Number(20)}),
	})
	fmt.Println(diff.ChangedKeys, diff.ReplaceKeys, diff.DetailedDiff[0].Kind, err)
	// Output:
	// [length] [length] update-replace <nil>
}

func ExamplePackage_AppendJSON() {
	p := &schema.Package{Name: "random", Version: "1.0.0", Resources: []*schema.Resource{password()}}
	fmt.Println(p.ResolveResource("random:Password").Token)
	fmt.Printf("%.38s…\n", p.AppendJSON(nil))
	// Output:
	// random:index:Password
	// {"name":"random","version":"1.0.0","co…
}
