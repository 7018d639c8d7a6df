// The newest SDK of Pulumi, whose protocol Husk speaks. It is a module of its own: the tests that link Pulumi's engine are for that
// engine's version.
module github.com/husk-dev/husk/internal/pulumi/protocoltest

go 1.26.8

require (
	github.com/pulumi/pulumi/sdk/v3 v3.276.0
	github.com/stretchr/testify v1.12.1
	google.golang.org/protobuf v1.36.12
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260803160001-6ac0973c030d // indirect
	google.golang.org/grpc v1.83.2 // indirect
)
