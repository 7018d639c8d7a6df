// Command azure is a provider that stands in for Pulumi's package azure in public programs.
package main

import "github.com/husk-dev/husk/bench/reach/programs/standin/azure"

func main() { azure.Serve("azure", "4.0.0", "azure:network/getPublicIP:getPublicIP") }
