// Command azure-native is a provider that stands in for Pulumi's package azure-native in public programs.
package main

import "github.com/husk-dev/husk/bench/reach/programs/standin/azure"

func main() { azure.Serve("azure-native", "1.102.0", "azure-native:network:getPublicIPAddress") }
