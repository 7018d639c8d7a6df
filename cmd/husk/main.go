// Command husk plans and carries out deployments whose providers are
// WebAssembly modules. Its help says what it does; see also the README. Program
// husk-full, beside it, has the parts that few need.
package main

import (
	"os"

	"github.com/husk-dev/husk/cmd/husk/internal/root"
)

func main() { os.Exit(root.Main(nil)) }
