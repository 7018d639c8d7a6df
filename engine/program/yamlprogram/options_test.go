package yamlprogram

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/providers"
)

func TestOptions(t *testing.T) {
	monitor := &fakeMonitor{}
	require.NoError(t, load(t, `
resources:
  net: {type: "cloud:net:Network"}
  aws:
    type: pulumi:providers:cloud
    properties: {region: x}
    options: {version: 1.0.0, envVarMappings: {MINE: "${pulumi.stack}_HOME", OTHER: A}}
  dns: {type: pulumi:providers:dns}
  site:
    type: cloud:Site
    options:
      providers: ["${dns}", "${aws}"]
  site2:
    type: cloud:Site
    options:
      providers: {cloud: "${aws}"}
  a:
    type: cloud:Server
    name: logical
    properties: {size: 1}
    options:
      parent: ${site}
      dependsOn: ["${net}", "${site}", "${net}"]
      provider: ${aws}
      protect: true
      ignoreChanges: [tags.x, 'rules[*].port']
      replaceOnChanges: [size]
      deleteBeforeReplace: true
      retainOnDelete: false
      additionalSecretOutputs: [address]
      import: i-${pulumi.stack}
      hideDiffs: [image]
      replaceWith: ["${net}"]
      deletedWith: ${net}
      version: 1.0.0
      customTimeouts: {create: 5m, update: 90s, delete: 1h, read: 1s}
      aliases:
        - urn:pulumi:dev::shop::cloud:index:OldServer::old
        - {name: older, parent: "${net}"}
        - {type: cloud:index:Ancient, noParent: true}
  b:
    type: cloud:Server
    properties: {size: 1}
    options: {dependsOn: "${net}"}
`).Run(t.Context(), runContext(), monitor))

	net := urn.URN("urn:pulumi:dev::shop::cloud:net/network:Network::net")
	site := urn.URN("urn:pulumi:dev::shop::cloud:index:Site::site")
	aws := "urn:pulumi:dev::shop::pulumi:providers:cloud::aws::aws-id"
	dns := "urn:pulumi:dev::shop::pulumi:providers:dns::dns::dns-id"
	yes, no := true, false
	require.Equal(t, aws, monitor.request(t, "site").Options.Provider, "the provider of a component's own package")
	a := monitor.request(t, "logical")
	require.Equal(t, site, a.Parent)
	require.Equal(t, abi.ResourceOptions{
		Protect: &yes, Provider: aws, Dependencies: []urn.URN{net, site},
		AdditionalSecretOutputs: []string{"address", "password"},
		CustomTimeouts:          abi.CustomTimeouts{Create: 300, Update: 90, Delete: 3600, Read: 1},
		DeletedWith:             net, DeleteBeforeReplace: &yes, IgnoreChanges: []string{"tags.x", "rules.*.port"},
		ReplaceOnChanges: []string{"size"}, RetainOnDelete: &no,
		Aliases: []abi.Alias{
			{Case: abi.AliasCaseURN, URN: "urn:pulumi:dev::shop::cloud:index:OldServer::old"},
			{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Name: "older", ParentURN: net}},
			{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Type: "cloud:index:Ancient", NoParent: true}},
			{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Type: "cloud:index:OldServer"}},
		},
		ReplaceWith: []urn.URN{net}, HideDiffs: []string{"image"}, ImportID: "i-dev", Version: "1.0.0",
	}, a.Options)
	require.Equal(t, []urn.URN{net}, monitor.request(t, "b").Options.Dependencies, "one resource needs no list")

	require.Equal(t, []abi.PackageProvider{{Package: "cloud", Reference: aws}, {Package: "dns", Reference: dns}}, monitor.request(t, "site").Options.Providers)
	require.Equal(t, []abi.PackageProvider{{Package: "cloud", Reference: aws}}, monitor.request(t, "site2").Options.Providers)
	require.True(t, monitor.request(t, "site").Remote)
	require.False(t, monitor.request(t, "site").Custom)
	require.Equal(t, "1.0.0", monitor.request(t, "aws").Options.Version)
	require.Equal(t, `{__internal: {envVarMappings: {MINE: "dev_HOME", OTHER: "A"}}, region: "x"}`, showMap(monitor.request(t, "aws").Inputs))
}

// A schema may say which changes replace a resource, beside those that the program names.
func TestReplacementsOfSchemas(t *testing.T) {
	monitor := &fakeMonitor{}
	require.NoError(t, load(t, "resources: {a: {type: dns:Zone, options: {replaceOnChanges: [main.note, name]}}}").Run(t.Context(), runContext(), monitor))
	require.Equal(t, []string{"main.note", "name", "main.key", "parts.*.*.key"}, monitor.request(t, "a").Options.ReplaceOnChanges)
}

// An option that is not known in time is refused; a provider that a preview has
// not created is named by its unknown ID.
func TestOptionsInPreview(t *testing.T) {
	text := `
resources:
  aws:
    type: pulumi:providers:cloud
    properties: {region: x}
  a:
    type: cloud:Server
    properties: {size: 1}
    options: {provider: "${aws}"}
`
	run := runContext()
	run.DryRun = true
	monitor := &fakeMonitor{dryRun: true}
	require.NoError(t, load(t, text).Run(t.Context(), run, monitor))
	require.Equal(t, "urn:pulumi:dev::shop::pulumi:providers:cloud::aws::"+providers.UnknownID, monitor.request(t, "a").Options.Provider)

	err := load(t, text+"  b:\n    type: cloud:Server\n    properties: {size: 1}\n    options: {protect: \"${a.any}\"}\n").Run(t.Context(), run, monitor)
	require.ErrorContains(t, err, "Husk.yaml:13:27: the option protect must be known before the deployment")
}

func TestDefaultProviders(t *testing.T) {
	monitor := &fakeMonitor{invoke: func(abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
		return abi.MonitorInvokeResponse{Result: entries("id", "ami")}, nil
	}}
	require.NoError(t, load(t, `
variables:
  region: {fn::invoke: {function: cloud:findImage, arguments: {name: region}, return: id}}
  image: {fn::invoke: {function: cloud:findImage, arguments: {name: image}, return: id}}
resources:
  a: {type: cloud:Server, properties: {size: 1}}
  b: {type: cloud:Server, properties: {size: 1}, options: {provider: "${other}"}}
  record: {type: dns:Record, properties: {name: x}}
  aws: {type: pulumi:providers:cloud, defaultProvider: true, properties: {region: "${region}"}, options: {version: 1.0.0}}
  other: {type: pulumi:providers:cloud, properties: {region: y}}
`).Run(t.Context(), runContext(), monitor))
	aws := "urn:pulumi:dev::shop::pulumi:providers:cloud::aws"
	a := monitor.request(t, "a").Options
	require.Equal(t, aws+"::aws-id", a.Provider)
	require.Equal(t, "1.0.0", a.Version)
	require.Contains(t, monitor.request(t, "b").Options.Provider, "other")
	require.Empty(t, monitor.request(t, "record").Options.Provider)
	require.Empty(t, monitor.request(t, "other").Options.Provider)
	for _, call := range monitor.invoked {
		if name, _ := call.Args.Get("name").AsString(); name == "region" {
			require.Empty(t, call.Options.Provider, "the provider is made of its result")
		} else {
			require.Equal(t, aws+"::aws-id", call.Options.Provider)
		}
	}
}

// What an option is may be computed.
func TestComputedOptions(t *testing.T) {
	const text = `
config:
  timeouts: {type: object, default: {create: 5m, read: ~}}
  delete: {type: string, default: 1h}
  old: {type: array, default: ["urn:pulumi:dev::shop::cloud:index:OldServer::old", {name: older, noParent: true}]}
  tags: {type: object, secret: true, default: {a: b}}
variables:
  inputs: {size: 1, tags: "${tags}", image: "${net.id}"}
resources:
  net: {type: "cloud:net:Network"}
  aws: {type: pulumi:providers:cloud, properties: {region: x}, options: {pluginDownloadURL: "https://example.com"}}
  a:
    type: cloud:Server
    properties: ${inputs}
    options:
      customTimeouts: ${timeouts}
      aliases: ${old}
      replacementTrigger: {image: "${net.id}", tags: "${tags}"}
  b:
    type: cloud:Server
    properties: {size: 1, image: "${aws.version}"}
    options:
      customTimeouts: {delete: "${delete}", create: 1s}
      aliases: ["${old[0]}", {name: "was-${pulumi.stack}", parent: "${net}"}, {type: a:b:C}]
      replacementTrigger: ~
`
	monitor := &fakeMonitor{}
	require.NoError(t, load(t, text).Run(t.Context(), runContext(), monitor))
	a, b := monitor.request(t, "a"), monitor.request(t, "b")
	require.Equal(t, `{apiVersion: "v1", image: <net>"net-id", size: 1, tags: secret({a: "b"})}`, showMap(a.Inputs))
	require.Equal(t, []abi.PropertyDependency{{Key: "image", URNs: []urn.URN{"urn:pulumi:dev::shop::cloud:net/network:Network::net"}}}, a.PropertyDependencies)
	require.Equal(t, abi.CustomTimeouts{Create: 300}, a.Options.CustomTimeouts)
	old := abi.Alias{Case: abi.AliasCaseURN, URN: "urn:pulumi:dev::shop::cloud:index:OldServer::old"}
	schemas := abi.Alias{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Type: "cloud:index:OldServer"}}
	require.Equal(t, []abi.Alias{old, {Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Name: "older", NoParent: true}}, schemas}, a.Options.Aliases)
	require.Equal(t, `{image: "net-id", tags: secret({a: "b"})}`, show(*a.Options.ReplacementTrigger))

	require.Equal(t, `"1.0.0"`, show(b.Inputs.Get("image").Unwrap()))
	require.Equal(t, abi.CustomTimeouts{Create: 1, Delete: 3600}, b.Options.CustomTimeouts)
	require.Equal(t, []abi.Alias{
		old,
		{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Name: "was-dev", ParentURN: "urn:pulumi:dev::shop::cloud:net/network:Network::net"}},
		{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Type: "a:b:C"}}, schemas,
	}, b.Options.Aliases)
	require.Nil(t, b.Options.ReplacementTrigger)

	// A trigger need not be known in a preview.
	monitor, run := &fakeMonitor{dryRun: true}, runContext()
	run.DryRun = true
	require.NoError(t, load(t, text).Run(t.Context(), run, monitor))
	require.Equal(t, `{image: ?, tags: secret({a: "b"})}`, show(*monitor.request(t, "a").Options.ReplacementTrigger))
}

// Names of properties that a preview cannot know are refused there.
func TestComputedPropertiesMustBeKnown(t *testing.T) {
	p := load(t, `
resources:
  a: {type: "bare:index:Thing"}
  b: {type: "bare:index:Thing", properties: "${a.all}"}
`)
	monitor, run := &fakeMonitor{dryRun: true}, runContext()
	run.DryRun = true
	require.EqualError(t, p.Run(t.Context(), run, monitor), `Husk.yaml:4:48: the names of the properties of "b" must be known before the deployment, but they depend on a resource that is not there yet
    4 |   b: {type: "bare:index:Thing", properties: "${a.all}"}
      |                                                ^`)
}
