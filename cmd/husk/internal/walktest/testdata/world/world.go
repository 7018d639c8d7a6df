// Package world is a provider for walks: its objects are in the cloud of the walk, which answers as it likes. Each of its
// versions is a main package below it.
package world

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/tcp"
)

// Config says which cloud has the objects, and where in it they are.
type Config struct {
	Endpoint string  `husk:"endpoint"`
	Region   *string `husk:"region,replace"`
}

// Inputs are those of all types.
type Inputs struct {
	Key   int      `husk:"key"`
	Kind  int      `husk:"kind,replace"`
	Name  string   `husk:"name,optional,replace"`
	From  []string `husk:"from,optional"`
	Owner string   `husk:"owner,optional"`
	Tier  string   `husk:"tier,optional"`
}

// State is that of all types.
type State struct {
	Inputs
	Address string `husk:"address"`
	Note    string `husk:"note"`
}

// object is a type of resource.
type object struct {
	kind    string
	config  *Config
	version int
}

// ask is a request to the cloud, a line of JSON.
type ask struct {
	Method, Kind, Name, ID, Region string
	Version, Key, Subkind          int
	Label, Owner                   string
	From                           []string
}

// answer is the cloud's.
type answer struct {
	ID         string
	Key, Kind  int
	Name, Note string
	Owner      string
	From       []string
	// Fault is how the call fails: see the cloud.
	Fault string
}

var errLost = guest.Unavailable("the cloud did not answer")

func (o object) ask(ctx context.Context, method, name, id string, in Inputs) (answer, error) {
	conn, err := tcp.DialContext(ctx, "tcp", o.config.Endpoint)
	if err != nil {
		return answer{}, errors.Join(errLost, err)
	}
	defer conn.Close()
	region := ""
	if o.config.Region != nil {
		region = *o.config.Region
	}
	line, err := json.Marshal(ask{
		Method: method, Kind: o.kind, Name: name, ID: id, Region: region, Version: o.version,
		Key: in.Key, Subkind: in.Kind, Label: in.Name, Owner: in.Owner, From: in.From,
	})
	if err != nil {
		return answer{}, err
	}
	var a answer
	if _, err = conn.Write(append(line, '\n')); err == nil {
		line, err = bufio.NewReader(conn).ReadBytes('\n')
	}
	if err != nil || json.Unmarshal(line, &a) != nil {
		return answer{}, errLost
	}
	switch a.Fault {
	case "refused":
		return a, errors.New("the cloud refuses to " + method + " " + name)
	case "exists":
		return a, errors.New("the cloud has an object of this name: it exists already")
	case "not found":
		return a, abi.NewError(abi.ErrorKindNotFound, "there is no such project")
	case "unimplemented":
		return a, abi.NewError(abi.ErrorKindUnimplemented, "not in this version of the cloud")
	case "unavailable":
		return a, guest.Unavailable("the cloud is away")
	case "half", "nameless":
		return a, guest.InitFailed("the object is not ready")
	case "crash":
		panic("the provider crashes after " + method + " " + name)
	case "gone":
		return a, guest.NotFound("there is no object " + id)
	}
	return a, nil
}

func (a answer) state(in Inputs) State {
	s := State{Inputs: in, Address: "address of " + a.ID, Note: a.Note}
	if a.Fault == "damaged" {
		s.Note = "\xff" // which no text has
	}
	return s
}

func (o object) Create(ctx context.Context, r guest.CreateRequest[Inputs]) (guest.CreateResponse[State], error) {
	a, err := o.ask(ctx, "create", r.Name, "", r.Inputs)
	if a.Fault == "nameless" {
		a.ID = ""
	}
	return guest.CreateResponse[State]{ID: a.ID, State: a.state(r.Inputs)}, err
}

func (o object) Update(ctx context.Context, r guest.UpdateRequest[Inputs, State]) (guest.UpdateResponse[State], error) {
	a, err := o.ask(ctx, "update", r.Name, r.ID, r.Inputs)
	a.ID = r.ID
	return guest.UpdateResponse[State]{State: a.state(r.Inputs)}, err
}

func (o object) Read(ctx context.Context, r guest.ReadRequest[Inputs, State]) (guest.ReadResponse[Inputs, State], error) {
	a, err := o.ask(ctx, "read", r.Name, r.ID, Inputs{})
	if err != nil {
		return guest.ReadResponse[Inputs, State]{}, err
	}
	in := Inputs{Key: a.Key, Kind: a.Kind, Name: a.Name, From: a.From, Owner: a.Owner}
	if r.Inputs != nil {
		in.Tier = r.Inputs.Tier
	}
	a.ID = r.ID
	return guest.ReadResponse[Inputs, State]{ID: r.ID, Inputs: in, State: a.state(in)}, nil
}

func (o object) Delete(ctx context.Context, r guest.DeleteRequest[State]) error {
	_, err := o.ask(ctx, "delete", r.Name, r.ID, Inputs{})
	return err
}

// Serve serves a version of the provider.
func Serve(version int, name string) {
	c := &Config{}
	typed := func(kind string, options ...guest.Option) guest.Resource {
		return guest.ResourceOf("world:index:"+kind, object{kind, c, version}, options...)
	}
	guest.Serve(guest.Provider{
		Name: "world", Version: name,
		Config: guest.ConfigOf(func(_ context.Context, config Config) error { *c = config; return nil }),
		Resources: []guest.Resource{
			typed("Thing"),
			typed("Single", guest.DeleteBeforeReplace()),
			typed("Named", guest.Identity("name")),
		},
	})
}
