// Command notes is a provider made with pulumi-go-provider, as its authors would: it knows nothing of
// Husk. The tests of guest-sdk/pulumi drive it, and those of the builder make a module of it.
package main

import (
	"context"
	"fmt"
	"os"

	"example.com/notes/notes"
)

func main() {
	p, err := notes.Provider()
	if err == nil {
		err = p.Run(context.Background(), "notes", "1.2.0")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "notes: %v\n", err)
		os.Exit(1)
	}
}
