package main

import (
	"bufio"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/tcp"
)

// ObjectInputs are an Object's.
type ObjectInputs struct {
	Address string `husk:"address" doc:"The host and port of the cloud that has it."`
	Name    string `husk:"name,replace" doc:"What it is called, which others may be, too."`
	Size    int    `husk:"size" doc:"How large it is."`
}

// ObjectState is an Object's.
type ObjectState struct{ ObjectInputs }

// Object is a resource that exists outside: in a cloud that understands one line a connection
// and answers with one. Each creation makes another object, as with most real clouds.
type Object struct{}

// ask has the cloud do something.
func ask(ctx context.Context, address string, words ...string) (string, error) {
	conn, err := tcp.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	_, err = conn.Write([]byte(strings.Join(words, " ") + "\n"))
	var answer string
	if err == nil {
		answer, err = bufio.NewReader(conn).ReadString('\n')
	}
	return strings.TrimSpace(answer), errors.Join(err, conn.Close())
}

// Create makes an object.
func (Object) Create(ctx context.Context, r guest.CreateRequest[ObjectInputs]) (guest.CreateResponse[ObjectState], error) {
	id, err := ask(ctx, r.Inputs.Address, "create", r.Inputs.Name, strconv.Itoa(r.Inputs.Size))
	return guest.CreateResponse[ObjectState]{ID: id, State: ObjectState{r.Inputs}}, err
}

// Update changes an object.
func (Object) Update(ctx context.Context, r guest.UpdateRequest[ObjectInputs, ObjectState]) (guest.UpdateResponse[ObjectState], error) {
	_, err := ask(ctx, r.Inputs.Address, "update", r.ID, strconv.Itoa(r.Inputs.Size))
	return guest.UpdateResponse[ObjectState]{State: ObjectState{r.Inputs}}, err
}

// Read finds an object. To import one, its ID is ADDRESS/NAME/ID.
func (Object) Read(ctx context.Context, r guest.ReadRequest[ObjectInputs, ObjectState]) (guest.ReadResponse[ObjectInputs, ObjectState], error) {
	if r.State == nil {
		parts := strings.SplitN(r.ID, "/", 3)
		if len(parts) < 3 {
			return guest.ReadResponse[ObjectInputs, ObjectState]{}, errors.New("the ID to import is ADDRESS/NAME/ID")
		}
		r.State, r.ID = &ObjectState{ObjectInputs{Address: parts[0], Name: parts[1]}}, parts[2]
	}
	answer, err := ask(ctx, r.State.Address, "read", r.ID)
	if err == nil && answer == "gone" {
		err = guest.NotFound("there is no such object")
	}
	if err != nil {
		return guest.ReadResponse[ObjectInputs, ObjectState]{}, err
	}
	in := r.State.ObjectInputs
	in.Size, err = strconv.Atoi(answer)
	return guest.ReadResponse[ObjectInputs, ObjectState]{ID: r.ID, Inputs: in, State: ObjectState{in}}, err
}

// Delete deletes an object.
func (Object) Delete(ctx context.Context, r guest.DeleteRequest[ObjectState]) error {
	_, err := ask(ctx, r.State.Address, "delete", r.ID)
	return err
}
