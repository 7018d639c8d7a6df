// Package roster is a program that declares contacts. The directories beside this file have the same program in other languages.
package roster

import (
	"context"
	"errors"

	"github.com/husk-dev/husk/guest-sdk/deploy"
	"github.com/husk-dev/husk/guest-sdk/program"
)

// Declare declares the contacts.
func Declare(ctx context.Context, s *program.Stack) error {
	url, _ := s.Config("url")
	city, _ := s.Config("city")
	mine := s.Resource(deploy.Declaration{Type: "pulumi:providers:contacts", Name: "mine", Inputs: deploy.Props{"url": url}})
	staff := s.Group(deploy.Declaration{Type: "roster:index:Staff", Name: "staff"})
	options := deploy.Options{Parent: staff, Provider: mine}
	ann := s.Resource(deploy.Declaration{Type: "contacts:index:Contact", Name: "ann", Options: options, Inputs: deploy.Props{
		"name": "Ann", "priority": 2, "tags": []string{"friend", "boss"}, "password": s.Secret("note"),
		"address": deploy.Props{"city": city, "street": s.Secret("street")},
	}})
	if mode, _ := s.Config("mode"); mode != "" {
		if _, _, err := deploy.Await(s.Deployment, ann.ID()); err != nil {
			return err
		}
		return misbehave(mode)
	}
	bob := s.Resource(deploy.Declaration{Type: "contacts:index:Contact", Name: "bob", Options: options, Inputs: deploy.Props{
		"name": deploy.Concat("Bob, after ", deploy.Field[string](ann, "label")), "tags": deploy.All(ann.ID()),
		"address": deploy.Props{"city": deploy.Field[string](ann, "address.city"), "street": deploy.Field[string](ann, `address["street"]`)},
	}})
	team := s.Component(deploy.Declaration{Type: "contacts:index:Team", Name: "team", Inputs: deploy.Props{
		"names": []string{"Eve", "Max"}, "domain": deploy.Field[string](bob, "label"), "note": s.Secret("note"),
	}, Options: deploy.Options{Provider: mine, DependsOn: []*deploy.Child{ann}}})
	seen := s.Read(deploy.Declaration{Type: "contacts:index:Contact", Name: "seen", Options: options}, ann.ID())
	found := s.Invoke("contacts:index:find", deploy.Props{"tag": deploy.Field[string](bob, "tags[0]")}, deploy.Options{Provider: mine})

	s.Output("label", deploy.Field[string](bob, "label"))
	s.Output("team", deploy.Field[[]string](team, "ids"))
	s.Output("seen", deploy.Field[string](seen, "name"))
	s.Output("found", deploy.Field[[]string](found, "names"))
	s.Output("note", s.Secret("note"))
	s.Output("none", s.Secret("none"))
	s.Output("place", deploy.Props{"stack": s.Context().Stack, "city": city})
	program.Log(ctx).Info("declared in " + s.Context().Project)
	return nil
}

func misbehave(mode string) error {
	if mode == "panic" {
		panic("no such mood")
	}
	return errors.New("no such mood")
}
