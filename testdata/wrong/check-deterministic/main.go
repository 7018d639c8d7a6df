// Command check-deterministic is a provider of notes that breaks one rule. Its Check makes up defaults that do not follow from the request.
package main

import (
	"context"
	"strconv"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct {
	*notes.Provider
	checked int
}

func (p *provider) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	response, err := p.Provider.Check(ctx, request)
	if request.News.Has("tags") {
		return response, err
	}
	p.checked++
	tags := property.Object(property.NewMap(property.Entry{Key: "number", Value: property.String(strconv.Itoa(p.checked))}))
	if request.Olds != nil {
		tags = request.Olds.Get("tags")
	}
	response.Inputs = response.Inputs.With("tags", tags)
	return response, err
}

func main() { guest.ServeProvider(&provider{Provider: notes.New()}) }
