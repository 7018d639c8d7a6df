//go:build !plugingo_before_0_22

package tf6

import (
	"context"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

func functions(response *tfprotov6.GetProviderSchemaResponse) map[string]*tf.Function {
	all := make(map[string]*tf.Function, len(response.Functions))
	for name, f := range response.Functions {
		function := &tf.Function{Description: f.Description, Deprecation: f.DeprecationMessage, Return: f.Return.Type}
		if f.Description == "" {
			function.Description = f.Summary
		}
		for _, p := range f.Parameters {
			function.Parameters = append(function.Parameters, parameter(p))
		}
		if f.VariadicParameter != nil {
			p := parameter(f.VariadicParameter)
			function.Variadic = &p
		}
		all[name] = function
	}
	return all
}

func parameter(p *tfprotov6.FunctionParameter) tf.Parameter {
	return tf.Parameter{Name: p.Name, Type: p.Type, Description: p.Description, AllowNull: p.AllowNullValue}
}

func (s *server) CallFunction(ctx context.Context, name string, arguments []*tf.Value) (*tf.Value, *tf.FunctionError, error) {
	request := &tfprotov6.CallFunctionRequest{Name: name}
	for _, a := range arguments {
		request.Arguments = append(request.Arguments, wire(a))
	}
	response, err := s.ProviderServer.(tfprotov6.FunctionServer).CallFunction(ctx, request)
	if err != nil {
		return nil, nil, err
	}
	if e := response.Error; e != nil {
		return nil, &tf.FunctionError{Text: e.Text, Argument: e.FunctionArgument}, nil
	}
	return value(response.Result), nil, nil
}
