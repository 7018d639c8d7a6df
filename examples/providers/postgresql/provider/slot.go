package provider

import (
	"context"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// ReplicationSlotInputs are the inputs of postgresql:ReplicationSlot.
type ReplicationSlotInputs struct {
	Name     string `husk:"name,replace" doc:"The slot's name, of a to z, digits, and underscores."`
	Database string `husk:"database,computed,replace" doc:"The database whose changes it keeps; the configured one where none is given."`
	Plugin   string `husk:"plugin,replace" doc:"The plugin that writes the changes, for example pgoutput, which subscriptions need."`
}

// ReplicationSlotState is the state of postgresql:ReplicationSlot.
type ReplicationSlotState struct {
	ReplicationSlotInputs
}

// ReplicationSlot implements postgresql:ReplicationSlot.
type ReplicationSlot struct{ server *server }

// checkSlot refuses an invalid name of a slot.
func checkSlot(path, name string) []guest.CheckFailure {
	valid := name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
	if valid && len(name) <= longestName {
		return nil
	}
	return []guest.CheckFailure{{Path: path, Reason: strconv.Quote(name) + " must be of a to z, digits, and underscores, and not longer than " + strconv.Itoa(longestName)}}
}

// Check checks the name.
func (ReplicationSlot) Check(_ context.Context, r guest.CheckRequest[ReplicationSlotInputs]) ([]guest.CheckFailure, error) {
	if !r.Known("name") {
		return nil, nil
	}
	return checkSlot("name", r.Inputs.Name), nil
}

// Create makes the slot. Its ID is the database, a dot, and its name.
func (o ReplicationSlot) Create(ctx context.Context, r guest.CreateRequest[ReplicationSlotInputs]) (guest.CreateResponse[ReplicationSlotState], error) {
	in := r.Inputs
	in.Database = o.server.database(in.Database)
	err := o.server.execute(ctx, in.Database, "SELECT pg_create_logical_replication_slot($1::text::name, $2::text::name)", in.Name, in.Plugin)
	if err != nil {
		return guest.CreateResponse[ReplicationSlotState]{}, err
	}
	return guest.CreateResponse[ReplicationSlotState]{ID: in.Database + "." + in.Name, State: ReplicationSlotState{in}}, nil
}

// Read finds the slot.
func (o ReplicationSlot) Read(ctx context.Context, r guest.ReadRequest[ReplicationSlotInputs, ReplicationSlotState]) (guest.ReadResponse[ReplicationSlotInputs, ReplicationSlotState], error) {
	var response guest.ReadResponse[ReplicationSlotInputs, ReplicationSlotState]
	var in ReplicationSlotInputs
	in.Database, in.Name = o.server.databaseAnd(r.ID)
	if r.State != nil {
		in = r.State.ReplicationSlotInputs
	}
	err := o.server.find(ctx, "", "there is no replication slot "+in.Name+" in "+in.Database,
		"SELECT plugin::text FROM pg_replication_slots WHERE slot_type = 'logical' AND slot_name = $1 AND database = $2",
		[]any{in.Name, in.Database}, &in.Plugin)
	if err != nil {
		return response, err
	}
	response.Inputs, response.State = in, ReplicationSlotState{in}
	if r.State == nil {
		response.ID = in.Database + "." + in.Name
	}
	if r.Inputs != nil && r.Inputs.Database == "" || r.Inputs == nil && in.Database == o.server.database("") {
		response.Inputs.Database = ""
	}
	return response, nil
}

// dropSlot drops a slot. That nobody reads from it any more is for the server to know.
func (s *server) dropSlot(ctx context.Context, database, slot string) error {
	err := s.execute(ctx, database, "SELECT pg_drop_replication_slot($1::text::name)", slot)
	if isCode(err, undefinedObject, invalidCatalogName) {
		return guest.NotFound("there is no replication slot " + slot)
	}
	return err
}

// Delete drops the slot.
func (o ReplicationSlot) Delete(ctx context.Context, r guest.DeleteRequest[ReplicationSlotState]) error {
	return o.server.dropSlot(ctx, r.State.Database, r.State.Name)
}

// PhysicalReplicationSlotInputs are the inputs of postgresql:PhysicalReplicationSlot.
type PhysicalReplicationSlotInputs struct {
	Name string `husk:"name,replace" doc:"The slot's name, of a to z, digits, and underscores."`
}

// PhysicalReplicationSlotState is the state of postgresql:PhysicalReplicationSlot.
type PhysicalReplicationSlotState struct {
	PhysicalReplicationSlotInputs
}

// PhysicalReplicationSlot implements postgresql:PhysicalReplicationSlot.
type PhysicalReplicationSlot struct{ server *server }

// Check checks the name.
func (PhysicalReplicationSlot) Check(_ context.Context, r guest.CheckRequest[PhysicalReplicationSlotInputs]) ([]guest.CheckFailure, error) {
	if !r.Known("name") {
		return nil, nil
	}
	return checkSlot("name", r.Inputs.Name), nil
}

// Create makes the slot. Its ID is its name.
func (o PhysicalReplicationSlot) Create(ctx context.Context, r guest.CreateRequest[PhysicalReplicationSlotInputs]) (guest.CreateResponse[PhysicalReplicationSlotState], error) {
	err := o.server.execute(ctx, "", "SELECT pg_create_physical_replication_slot($1::text::name)", r.Inputs.Name)
	if err != nil {
		return guest.CreateResponse[PhysicalReplicationSlotState]{}, err
	}
	return guest.CreateResponse[PhysicalReplicationSlotState]{ID: r.Inputs.Name, State: PhysicalReplicationSlotState{r.Inputs}}, nil
}

// Read finds the slot.
func (o PhysicalReplicationSlot) Read(ctx context.Context, r guest.ReadRequest[PhysicalReplicationSlotInputs, PhysicalReplicationSlotState]) (guest.ReadResponse[PhysicalReplicationSlotInputs, PhysicalReplicationSlotState], error) {
	in := PhysicalReplicationSlotInputs{Name: r.ID}
	err := o.server.find(ctx, "", "there is no physical replication slot "+r.ID,
		"SELECT slot_name::text FROM pg_replication_slots WHERE slot_type = 'physical' AND slot_name = $1", []any{r.ID}, &in.Name)
	return guest.ReadResponse[PhysicalReplicationSlotInputs, PhysicalReplicationSlotState]{Inputs: in, State: PhysicalReplicationSlotState{in}}, err
}

// Delete drops the slot.
func (o PhysicalReplicationSlot) Delete(ctx context.Context, r guest.DeleteRequest[PhysicalReplicationSlotState]) error {
	return o.server.dropSlot(ctx, "", r.State.Name)
}
