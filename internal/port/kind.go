package port

import (
	"fmt"
	"strings"
)

// kind is a way to write a provider.
type kind struct {
	// Name is for people.
	Name string
	// serves are packages. A provider of the kind needs at least one of them.
	serves []string
	// adapter is the module that turns what such a provider serves into the contract, empty if there is none yet.
	adapter string
	// packages are the adapter's packages that shims import.
	packages []string
	// oldest are the versions that modules have at least: with older ones the adapter does not build.
	oldest map[string]string
	// served are the modules with the functions that serve. A shim of one hands the served provider to the adapter.
	served []serving
	// refusal says why providers of the kind cannot be ported, and what to do instead.
	refusal string
	// instead begins the last part of the path of modules that can be ported instead, empty for none.
	instead string
}

// serving is a module with a function that serves a provider.
type serving struct {
	module string
	// shim names the shim that changes the function, if the module can have others.
	shim string
}

const (
	terraformAdapter = project + "/guest-sdk/terraform"
	pulumiAdapter    = project + "/guest-sdk/pulumi"
	pulumiSDK        = "github.com/pulumi/pulumi/sdk/v3"
	pulumiPkg        = "github.com/pulumi/pulumi/pkg/v3" // before v3.249 it had what serves
	pluginGo         = "github.com/hashicorp/terraform-plugin-go"
	sdkV1            = "github.com/hashicorp/terraform-plugin-sdk"
	sdkV2            = "github.com/hashicorp/terraform-plugin-sdk/v2"
)

// terraform returns a kind of provider whose server is terraform-plugin-go's.
func terraform(name string, serves ...string) kind {
	return kind{
		Name: name, serves: serves, adapter: terraformAdapter, packages: []string{"tf5", "tf6"},
		// SDKs before it have the same interface of providers.
		oldest: map[string]string{pluginGo: "v0.14.3"}, served: []serving{{module: pluginGo}},
	}
}

// terraformSDK1 returns the kind of providers on the SDK that has its own server.
func terraformSDK1() kind {
	k := terraform("Terraform plugin SDK version 1", sdkV1+"/plugin")
	k.served = []serving{{sdkV1, "plugin-sdk-1"}}
	return k
}

// pulumi returns a kind of provider whose server is one of Pulumi's protocol.
func pulumi(name string, serves ...string) kind {
	return kind{
		Name: name, serves: serves, adapter: pulumiAdapter, packages: []string{""},
		served: []serving{{pulumiSDK, "pulumi-provider"}, {pulumiPkg, "pulumi-provider-pkg"}},
	}
}

// kinds has the kinds, the most special ones first: a bridged provider contains a Terraform provider.
var kinds = []kind{
	{Name: "Husk SDK", serves: []string{project + "/guest-sdk/guest"},
		refusal: "it is written for Husk: build it with husk provider build"},
	{Name: "Pulumi's Terraform bridge", serves: []string{
		"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge", "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/pf/tfbridge",
		"github.com/pulumi/pulumi-terraform-bridge/pf/tfbridge", "github.com/pulumi/pulumi-terraform-bridge/v2/pkg/tfbridge",
	}, refusal: "it translates a Terraform provider, and the adapter for Terraform derives its tokens in the same way", instead: "terraform-provider-"},
	pulumi("pulumi-go-provider", "github.com/pulumi/pulumi-go-provider"),
	pulumi("Pulumi provider server", pulumiSDK+"/go/pulumi/provider", pulumiPkg+"/resource/provider"),
	terraform("Terraform provider servers behind a mux",
		"github.com/hashicorp/terraform-plugin-mux/tf5muxserver", "github.com/hashicorp/terraform-plugin-mux/tf6muxserver",
		"github.com/hashicorp/terraform-plugin-mux"),
	terraform("Terraform plugin framework", "github.com/hashicorp/terraform-plugin-framework/providerserver"),
	terraform("Terraform plugin SDKv2", sdkV2+"/plugin"),
	terraform("Terraform provider server", pluginGo+"/tfprotov5/tf5server", pluginGo+"/tfprotov6/tf6server"),
	terraformSDK1(),
	{Name: "Terraform itself as the SDK", serves: []string{"github.com/hashicorp/terraform/plugin"},
		refusal: "it was written before the plugin SDK was taken out of Terraform: " +
			"port a version that uses github.com/hashicorp/terraform-plugin-sdk, from autumn 2019 on"},
}

// kindOf returns the kind of a program, nil if it is not a provider.
func kindOf(has func(pkg string) bool) *kind {
	for i := range kinds {
		for _, pkg := range kinds[i].serves {
			if has(pkg) {
				return &kinds[i]
			}
		}
	}
	return nil
}

// unknownKindError is the error for a program that is not a provider.
func unknownKindError(shown string) error {
	var names []string
	for _, k := range kinds {
		if k.adapter != "" {
			names = append(names, k.Name)
		}
	}
	return fmt.Errorf("%s is not a provider that can be ported: its main package serves none of these kinds: %s", shown, strings.Join(names, ", "))
}
