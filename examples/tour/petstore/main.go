// Command petstore serves the two empty pet stores of the tour until it is interrupted.
package main

import (
	"log"
	"net/http"
	"os"

	"github.com/husk-dev/husk/examples/internal/petstore"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("use it as: petstore DOCUMENT")
	}
	failed := make(chan error)
	for _, address := range []string{"127.0.0.1:8101", "127.0.0.1:8102"} {
		log.Print("a pet store is at http://", address)
		go func() { failed <- http.ListenAndServe(address, petstore.Open(os.Args[1])) }()
	}
	log.Fatal(<-failed)
}
