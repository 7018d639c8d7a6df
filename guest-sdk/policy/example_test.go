package policy_test

import (
	"context"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/policy"
)

type sizes struct {
	Largest int `husk:"largest,default=10,min=1" doc:"The largest size."`
}

func small(_ context.Context, r policy.ResourceRequest[sizes]) ([]policy.Violation, error) {
	size, known := r.Resource.Properties.Get("size").Plain().AsNumber()
	if !known || size <= float64(r.Config.Largest) {
		return nil, nil
	}
	return []policy.Violation{{Path: "size", Message: "make it smaller"}}, nil
}

// A pack is tested in a Go program, with the configuration that an operator would give it.
func ExampleNew() {
	ctx := context.Background()
	pack, err := policy.New(policy.Pack{
		Name: "house", Version: "1.0.0",
		Policies: []policy.Policy{policy.Of(policy.Rule[sizes]{
			Name: "small", Description: "Things are small.", Level: policy.Mandatory, Resource: small,
		})},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	config := property.NewMap(property.Entry{Key: "largest", Value: property.Number(3)})
	if err := pack.Configure(ctx, abi.PolicyConfigureRequest{Rules: []abi.PolicyRuleConfig{
		{Name: "small", Level: policy.Mandatory, Properties: config},
	}}); err != nil {
		fmt.Println(err)
		return
	}
	for _, size := range []float64{2, 4} {
		answer, err := pack.Analyze(ctx, abi.PolicyAnalyzeRequest{Resource: abi.PolicyResource{
			Properties: property.NewMap(property.Entry{Key: "size", Value: property.Number(size)}),
		}})
		fmt.Println(size, answer.Violations, err)
	}
	// Output:
	// 2 [] <nil>
	// 4 [{small make it smaller size }] <nil>
}
