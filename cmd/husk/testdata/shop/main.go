// Command shop is the provider of docs/grants.md.
package main

import (
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

func main() {
	guest.Serve(guest.Provider{
		Name:    "shop",
		Version: "1.4.0",
		Requests: []abi.CapabilityRequest{
			{Capability: "http", Scope: "https://api.example.org/v1", Reason: "the shop"},
			{Capability: "fs", Scope: "public:rw", Reason: "pages", Optional: true},
		},
	})
}
