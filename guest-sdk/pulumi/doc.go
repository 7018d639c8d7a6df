// Package pulumi serves a provider of Pulumi's protocol to Husk: anything that implements
// pulumirpc.ResourceProviderServer, be it written by hand, with pulumi-go-provider, or by the Terraform
// bridge. Calls go to the methods of the server in memory, through the generated description of the
// service.
//
// A component provider, and a provider that logs, calls the engine: it dials the address of a gRPC
// service. [Serve] listens for that inside of the module, whose network ends at the module, and passes
// the calls to the host's interfaces monitor and log.
//
// The source fits all versions of Pulumi's protocol since [OldestSDK]. A message has the fields that
// the version has, which the provider selects.
package pulumi
