// Package provider manages contacts of a service. The directories beside it have the same provider in other languages.
package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/husk-dev/husk/guest-sdk/guest"
	_ "github.com/husk-dev/husk/guest-sdk/http" // for plain go build
)

// Address is a postal address.
type Address struct {
	City   string  `husk:"city" json:"city"`
	Street *string `husk:"street,optional" json:"street,omitempty"`
}

// Inputs are what a program sets.
type Inputs struct {
	Name     string   `husk:"name,replace" doc:"Another name makes another contact." json:"name"`
	Kind     string   `husk:"kind,default=person,oneof=person|company" json:"kind"`
	Priority int      `husk:"priority,default=3,min=1,max=5" json:"priority"`
	Address  *Address `husk:"address,optional" json:"address,omitempty"`
	Tags     []string `husk:"tags,optional" json:"tags,omitempty"`
	Password *string  `husk:"password,optional,secret" doc:"Never shown." json:"password,omitempty"`
}

// State is what a program can read.
type State struct {
	Inputs
	Label string `husk:"label" doc:"How letters begin." json:"-"`
}

// Contact is somebody.
type Contact struct{ url string }

// UnmarshalJSON refuses an address without a city.
func (a *Address) UnmarshalJSON(text []byte) error {
	type fields Address
	return unmarshal(text, (*fields)(a), "city")
}

// UnmarshalJSON refuses a contact without its required properties.
func (in *Inputs) UnmarshalJSON(text []byte) error {
	type fields Inputs
	return unmarshal(text, (*fields)(in), "name", "kind", "priority")
}

// unmarshal decodes an object that must have properties.
func unmarshal(text []byte, into any, required ...string) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for _, name := range required {
		if v := all[name]; v == nil || string(v) == "null" {
			return errors.New(name + " is missing")
		}
	}
	return json.Unmarshal(text, into)
}

func state(in Inputs) State {
	return State{in, fmt.Sprintf("%s (%s)", in.Name, in.Kind)}
}

// Create makes a contact.
func (c *Contact) Create(ctx context.Context, r guest.CreateRequest[Inputs]) (guest.CreateResponse[State], error) {
	var made made
	err := c.call(ctx, http.MethodPost, "/contacts", r.Inputs, &made)
	return guest.CreateResponse[State]{ID: made.ID, State: state(r.Inputs)}, err
}

// Read reads a contact.
func (c *Contact) Read(ctx context.Context, r guest.ReadRequest[Inputs, State]) (guest.ReadResponse[Inputs, State], error) {
	var in Inputs
	err := c.call(ctx, http.MethodGet, "/contacts/"+r.ID, nil, &in)
	return guest.ReadResponse[Inputs, State]{ID: r.ID, Inputs: in, State: state(in)}, err
}

// Update changes a contact.
func (c *Contact) Update(ctx context.Context, r guest.UpdateRequest[Inputs, State]) (guest.UpdateResponse[State], error) {
	var changed Inputs
	err := c.call(ctx, http.MethodPut, "/contacts/"+r.ID, r.Inputs, &changed)
	return guest.UpdateResponse[State]{State: state(r.Inputs)}, err
}

// Delete removes a contact.
func (c *Contact) Delete(ctx context.Context, r guest.DeleteRequest[State]) error {
	return c.call(ctx, http.MethodDelete, "/contacts/"+r.ID, nil, nil)
}

type made struct {
	ID string `json:"id"`
}

func (m *made) UnmarshalJSON(text []byte) error {
	type fields made
	return unmarshal(text, (*fields)(m), "id")
}

type listed struct {
	ID   string   `json:"id"`
	Name string   `json:"name"`
	Tags []string `json:"tags"`
}

func (l *listed) UnmarshalJSON(text []byte) error {
	type fields listed
	return unmarshal(text, (*fields)(l), "id", "name")
}

// List lists all contacts.
func (c *Contact) List(ctx context.Context, _ guest.ListRequest) (response guest.ListResponse, err error) {
	var all []listed
	err = c.call(ctx, http.MethodGet, "/contacts", nil, &all)
	for _, one := range all {
		response.Resources = append(response.Resources, guest.ListedResource{ID: one.ID, Name: one.Name})
	}
	return response, err
}

func (c *Contact) call(ctx context.Context, method, path string, body, answer any) error {
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode == http.StatusNotFound:
		return guest.NotFound(path + " does not exist")
	case response.StatusCode >= 300:
		return fmt.Errorf("%s %s: the service answers %d", method, path, response.StatusCode)
	case answer != nil && (json.Unmarshal(text, answer) != nil || string(bytes.TrimSpace(text)) == "null"):
		return errors.New(method + " " + path + ": the answer of the service does not fit")
	}
	return nil
}

// Search says whom to find.
type Search struct {
	Tag   string `husk:"tag"`
	Limit int    `husk:"limit,default=10,min=1"`
}

// Found are names, in alphabetical order.
type Found struct {
	Names []string `husk:"names"`
	Tag   string   `husk:"tag"`
}

func (c *Contact) find(ctx context.Context, search Search) (Found, error) {
	var all []listed
	err := c.call(ctx, http.MethodGet, "/contacts", nil, &all)
	found := Found{[]string{}, search.Tag}
	for _, one := range all {
		if slices.Contains(one.Tags, search.Tag) {
			found.Names = append(found.Names, one.Name)
		}
	}
	slices.Sort(found.Names)
	found.Names = found.Names[:min(len(found.Names), search.Limit)]
	return found, err
}

// New returns the provider.
func New() guest.Provider {
	type config struct {
		URL string `husk:"url" doc:"Where the service is."`
	}
	contact := &Contact{}
	return guest.Provider{
		Name: "contacts", Version: "1.0.0", Description: "Contacts of a service.",
		Config: guest.ConfigOf(func(_ context.Context, c config) error {
			contact.url = c.URL
			return nil
		}),
		Resources:  []guest.Resource{guest.ResourceOf("contacts:index:Contact", contact)},
		Components: []guest.Component{guest.ComponentOf("contacts:index:Team", Team{})},
		Functions:  []guest.Function{guest.FunctionOf("contacts:index:find", contact.find)},
	}
}
