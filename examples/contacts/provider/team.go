package provider

import (
	"context"
	"fmt"
	"slices"

	"github.com/husk-dev/husk/guest-sdk/deploy"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// TeamInputs are what a program sets.
type TeamInputs struct {
	Names  []string           `husk:"names" doc:"Each name makes a contact."`
	Domain deploy.Out[string] `husk:"domain" doc:"What follows each name and @."`
	Note   deploy.Out[string] `husk:"note,optional,secret" doc:"The password of each contact."`
}

// TeamOutputs are what a program can read.
type TeamOutputs struct {
	IDs    []deploy.Out[string] `husk:"ids" doc:"The IDs of the contacts, in the order of the names."`
	Count  int                  `husk:"count"`
	Domain deploy.Out[string]   `husk:"domain"`
}

// Team is a component: a contact for each of its names. The first one is made before the others.
type Team struct{}

// Construct declares the contacts.
func (Team) Construct(_ context.Context, r guest.ConstructRequest[TeamInputs], d *deploy.Deployment) (TeamOutputs, error) {
	in := r.Inputs
	out := TeamOutputs{IDs: []deploy.Out[string]{}, Count: len(in.Names), Domain: in.Domain}
	for i, name := range in.Names {
		if slices.Contains(in.Names[:i], name) {
			return out, guest.InvalidArgument(fmt.Sprintf("names[%d]", i), name+" is in the team already")
		}
	}
	var options deploy.Options
	for i, name := range in.Names {
		contact := d.Resource(deploy.Declaration{
			Type: "contacts:index:Contact", Name: r.Name + "-" + name, Options: options,
			Inputs: deploy.Props{"name": deploy.Concat(name, "@", in.Domain), "password": in.Note},
		})
		out.IDs = append(out.IDs, contact.ID())
		if i == 0 {
			options.DependsOn = []*deploy.Child{contact}
		}
	}
	return out, nil
}
