// Command husk-full is all of husk, with S3 and PostgreSQL, Pulumi's protocol, and the language server. It can be used in place of
// husk, which lets it take its place where a command needs one of these.
package main

import (
	"os"

	"github.com/husk-dev/husk/cmd/husk/internal/parts"
	"github.com/husk-dev/husk/cmd/husk/internal/root"
)

func main() { os.Exit(root.Main(parts.All())) }
