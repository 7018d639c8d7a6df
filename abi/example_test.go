package abi_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// greeter is a provider of one function. The engine calls it like one that runs in a module.
type greeter struct{ abi.Unimplemented }

func (greeter) Invoke(_ context.Context, r abi.InvokeRequest) (abi.InvokeResponse, error) {
	name, _ := r.Args.Get("name").AsString()
	return abi.InvokeResponse{Result: property.NewMap(property.Entry{Key: "text", Value: property.String("Hello, " + name)})}, nil
}

func ExampleProvider() {
	var provider abi.Provider = greeter{}
	args := property.NewMap(property.Entry{Key: "name", Value: property.String("world")})
	response, err := provider.Invoke(context.Background(), abi.InvokeRequest{Token: "greet:index:hello", Args: args})
	fmt.Println(response.Result, err)

	_, err = provider.Create(context.Background(), abi.CreateRequest{})
	fmt.Println(errors.Is(err, abi.ErrUnimplemented))
	// Output:
	// {text: "Hello, world"} <nil>
	// true
}

// An interceptor sees each call of a provider as data, and may change its request and response.
func ExampleIntercept() {
	provider := abi.Intercept(greeter{}, func(ctx context.Context, call *abi.Call) (context.Context, func(error) error, error) {
		fmt.Println(call.Method, "of", call.Subject().Token)
		for _, properties := range call.RequestProperties() {
			properties.Set(properties.Get().With("name", property.String("everybody")))
		}
		return ctx, func(err error) error {
			fmt.Println(call.Method, "returned", err)
			return err
		}, nil
	})
	response, err := provider.Invoke(context.Background(), abi.InvokeRequest{Token: "greet:index:hello"})
	fmt.Println(response.Result, err)
	// Output:
	// invoke of greet:index:hello
	// invoke returned <nil>
	// {text: "Hello, everybody"} <nil>
}
