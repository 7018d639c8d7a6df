// Command module is package fetch's provider as a module.
package main

import (
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/http/internal/fetch"
)

func main() { guest.Serve(fetch.Provider()) }
