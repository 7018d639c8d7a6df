// Command v1 is version 1 of the provider of walks.
package main

import "github.com/husk-dev/husk/cmd/husk/internal/walktest/testdata/world"

func main() { world.Serve(1, "1.0.0") }
