// Package terraform adapts Terraform providers to the contract of Husk. A provider is a server of
// protocol 5 or 6 of terraform-plugin-go, which is called in process: package tf5 or tf6 makes an
// abi.Provider of it. `husk provider port` builds a module of both, without a change to the provider.
//
// # Names
//
// Names follow the rules of Pulumi's bridge for Terraform. The resource tls_private_key is
// tls:index/privateKey:PrivateKey, and the data source tls_certificate tls:index/getCertificate:getCertificate.
// Attributes are in camel case. Lists and sets have names in the plural, unless they have at most one
// element: then the property is that element. A [Mapping] changes names and shapes.
//
// # State
//
// A state holds the attributes of the resource, and in the property __meta, as Pulumi's bridge has it,
// the version of its schema and the private state of the provider. If the version rises, the provider
// upgrades the state. Write-only attributes are write-only inputs, and in no state.
//
// # Operations
//
// Check validates, Diff plans, Create and Update plan and apply. While the configuration of the provider
// is not known, it is not asked: a preview then knows no outputs. If the provider fails after it has
// changed something, its state is kept, in an error of kind init-failed.
//
// Terraform deletes an object before it creates its replacement. Husk does so if the new object would
// have the identity of the old one: if the attributes of the identity that the provider declares, or
// else the attribute name, do not change.
package terraform

//go:generate go run ./internal/tf5gen
