// Command module is package fetch's provider as a module.
package main

import (
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/guest-sdk/http/internal/fetch"
)

func main() { guest.Serve(fetch.Provider()) }
