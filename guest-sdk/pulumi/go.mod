module github.com/husk-dev/husk/guest-sdk/pulumi

go 1.26.8

require (
	github.com/husk-dev/husk v0.0.0
	github.com/pulumi/pulumi/sdk/v3 v3.260.0
	github.com/stretchr/testify v1.12.1
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/blang/semver/v4 v4.0.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
)

replace github.com/husk-dev/husk => ../..
