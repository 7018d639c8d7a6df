package conformance_test

import (
	"context"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/conformance"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

type labelInputs struct {
	Text string `husk:"text" doc:"The text."`
}

type label struct{}

// Create forgets the text, although the schema declares it as an output.
func (label) Create(_ context.Context, r guest.CreateRequest[labelInputs]) (guest.CreateResponse[labelInputs], error) {
	return guest.CreateResponse[labelInputs]{ID: r.Name}, nil
}

// A provider is tested in a Go program. The report names the rules that it breaks.
func ExampleRun() {
	open := func(context.Context) (abi.Provider, error) {
		return guest.New(guest.Provider{
			Name: "labels", Version: "1.0.0",
			Resources: []guest.Resource{guest.ResourceOf("labels:index:Label", label{})},
		})
	}
	report, err := conformance.Run(context.Background(), open, conformance.Options{Only: []string{"handshake", "preview-agrees"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, result := range report.Results {
		fmt.Println(result.Subject, result.Check, result.Status)
	}
	// Output:
	// package handshake ok
	// labels:index:Label preview-agrees failed
}
