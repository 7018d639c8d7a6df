package host_test

import (
	"context"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testmodule"
)

// Load a module, see what it is, and use it as a provider.
func Example() {
	ctx := context.Background()
	wasm, err := testmodule.Bytes("testdata/probe")
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := host.New(ctx, host.NewConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close(ctx)
	module, err := h.LoadBytes(ctx, wasm)
	if err != nil {
		fmt.Println(err)
		return
	}
	provider, err := module.NewProvider(ctx, host.ProviderOptions{Name: "probe"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer provider.Close()

	who, err := provider.Handshake(ctx, abi.HandshakeRequest{Engine: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(who.Name, who.Version)
	checked, err := provider.Check(ctx, abi.CheckRequest{
		URN:  "urn:pulumi:dev::example::probe:index:Thing::x",
		Name: "x", Type: "probe:index:Thing", RandomSeed: make([]byte, 32),
		News: property.MapOf(map[string]property.Value{"text": property.Number(1)}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, failure := range checked.Failures {
		fmt.Println(failure.Path, failure.Reason)
	}
	_, err = provider.Invoke(ctx, abi.InvokeRequest{
		Token: "probe:index:do",
		Args: property.MapOf(map[string]property.Value{
			"what": property.String("read"), "args": property.Array(property.String("/etc/passwd")),
		}),
	})
	fmt.Println(err)
	// Output:
	// probe 1.2.3
	// text expected string, got number
	// probe 1.2.3: invoke: open /etc/passwd: Capabilities insufficient
}
