package guest_test

import (
	"context"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/deploy"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

type GreetingInputs struct {
	Name string `husk:"name,replace" doc:"Who is greeted."`
	Mark string `husk:"mark,default=!,oneof=!|?|." doc:"What the greeting ends with."`
}

type GreetingState struct {
	GreetingInputs
	Text string `husk:"text" doc:"The greeting."`
}

type Greeting struct{}

func (Greeting) Create(_ context.Context, r guest.CreateRequest[GreetingInputs]) (guest.CreateResponse[GreetingState], error) {
	state := GreetingState{r.Inputs, "Hello, " + r.Inputs.Name + r.Inputs.Mark}
	return guest.CreateResponse[GreetingState]{ID: r.Name, State: state}, nil
}

// A provider runs in any program, such as its tests.
func ExampleNew() {
	ctx := context.Background()
	provider, err := guest.New(guest.Provider{
		Name:      "greet",
		Version:   "1.0.0",
		Resources: []guest.Resource{guest.ResourceOf("greet:index:Greeting", Greeting{})},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	given := property.MapOf(map[string]property.Value{"name": property.String("Ann"), "mrk": property.String("?")})
	checked, _ := provider.Check(ctx, abi.CheckRequest{Type: "greet:index:Greeting", News: given})
	for _, failure := range checked.Failures {
		fmt.Println(failure.Path+":", failure.Reason)
	}

	checked, _ = provider.Check(ctx, abi.CheckRequest{Type: "greet:index:Greeting", News: given.Without("mrk")})
	created, err := provider.Create(ctx, abi.CreateRequest{Type: "greet:index:Greeting", Name: "ann", Inputs: checked.Inputs})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(created.ID, property.Object(created.State))
	// Output:
	// mrk: no such property; did you mean "mark"?
	// ann {mark: "!", name: "Ann", text: "Hello, Ann!"}
}

type SiteInputs struct {
	Directory deploy.Out[string] `husk:"directory" doc:"Where the key is written."`
}

type SiteOutputs struct {
	Path deploy.Out[string] `husk:"path" doc:"The file with the key."`
}

type Site struct{}

// Construct waits for nothing: the key is made first, because the file's content comes from it.
func (Site) Construct(_ context.Context, r guest.ConstructRequest[SiteInputs], d *deploy.Deployment) (SiteOutputs, error) {
	key := d.Resource(deploy.Declaration{
		Type: "tls:index/privateKey:PrivateKey", Name: r.Name + "-key",
		Inputs: deploy.Props{"algorithm": "ED25519"},
	})
	file := d.Resource(deploy.Declaration{
		Type: "local:index/file:File", Name: r.Name + "-file",
		Inputs: deploy.Props{
			"path":    deploy.Concat(r.Inputs.Directory, "/key.pub"),
			"content": deploy.Field[string](key, "publicKeyPem"),
		},
	})
	return SiteOutputs{Path: deploy.Field[string](file, "path")}, nil
}

// A component makes a key and a file of resources of other packages.
func ExampleComponentOf() {
	_ = guest.Provider{
		Name: "site", Version: "1.0.0",
		Components: []guest.Component{guest.ComponentOf("site:index:Site", Site{})},
	}
}
