// Command v2 is version 2 of the provider of walks.
package main

import "github.com/husk-dev/husk/cmd/husk/internal/walktest/testdata/world"

func main() { world.Serve(2, "2.0.0") }
