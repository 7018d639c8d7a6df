// The provider of Pulumi's dynamic resources. It is a module of its own, because its JavaScript engine takes longer to compile
// than all of Husk.
module github.com/husk-dev/husk/examples/providers/pulumi-nodejs

go 1.26.8

require (
	github.com/husk-dev/husk v0.0.0
	github.com/stretchr/testify v1.12.1
)

require (
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)

replace github.com/husk-dev/husk => ../../..
