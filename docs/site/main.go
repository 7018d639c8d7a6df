// Command site makes a site of the documents: static pages that need no server and nothing from elsewhere.
//
//	go run -C docs/site . -o DIR
//
// A link that leads nowhere, in the documents or in their headings, is an error.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("o", "", "the directory to write to")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: go run -C docs/site . -o DIR")
		os.Exit(2)
	}
	n, err := write(filepath.Join("..", ".."), *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages: open %s\n", n, filepath.Join(*out, "index.html"))
}
