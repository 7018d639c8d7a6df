package provider

import (
	"context"
	"slices"
	"strconv"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// SubscriptionInputs are the inputs of postgresql:Subscription.
type SubscriptionInputs struct {
	Name         string   `husk:"name,autoname=63,replace" doc:"The subscription's name."`
	Database     string   `husk:"database,computed,replace" doc:"The database that the changes are made in; the configured one where none is given."`
	Conninfo     string   `husk:"conninfo,secret,replace" doc:"How the server connects to the publisher, as in host=db.example.org dbname=app user=replicator password=..."`
	Publications []string `husk:"publications,replace" doc:"The publications of the publisher to subscribe to."`
	CreateSlot   bool     `husk:"createSlot,default=true,replace" doc:"Whether to make the replication slot on the publisher, and to drop it with the subscription."`
	SlotName     string   `husk:"slotName,optional,replace" doc:"The replication slot to use; the subscription's name where none is given."`
	Enabled      bool     `husk:"enabled,default=true" doc:"Whether changes are made at once, or not yet."`
}

// SubscriptionState is the state of postgresql:Subscription.
type SubscriptionState struct {
	SubscriptionInputs
}

// Subscription implements postgresql:Subscription.
type Subscription struct{ server *server }

// Check checks the name, and sorts the publications.
func (Subscription) Check(_ context.Context, r guest.CheckRequest[SubscriptionInputs]) ([]guest.CheckFailure, error) {
	in := r.Inputs
	failures := checkName(in.Name)
	if in.SlotName != "" {
		failures = append(failures, checkSlot("slotName", in.SlotName)...)
	}
	if r.Known("publications") {
		slices.Sort(in.Publications)
		in.Publications = slices.Compact(in.Publications)
		if len(in.Publications) == 0 {
			failures = append(failures, guest.CheckFailure{Path: "publications", Reason: "must have one or more"})
		}
	}
	return failures, nil
}

// Create makes the subscription. Its ID is the database, a dot, and its name.
func (o Subscription) Create(ctx context.Context, r guest.CreateRequest[SubscriptionInputs]) (guest.CreateResponse[SubscriptionState], error) {
	in := r.Inputs
	in.Database = o.server.database(in.Database)
	statement := "CREATE SUBSCRIPTION " + name(in.Name) + " CONNECTION " + text(in.Conninfo) + " PUBLICATION " + names(in.Publications) +
		" WITH (create_slot = " + strconv.FormatBool(in.CreateSlot) + ", enabled = " + strconv.FormatBool(in.Enabled)
	if in.SlotName != "" {
		statement += ", slot_name = " + text(in.SlotName)
	}
	err := o.server.execute(ctx, in.Database, statement+")")
	if isCode(err, syntaxError) {
		// The server's message has a part of it, which may be that with the password.
		err = guest.InvalidArgument("conninfo", "is not a list of keywords and values, as in host=db.example.org user=replicator password='a b'")
	}
	if err != nil {
		return guest.CreateResponse[SubscriptionState]{}, err
	}
	return guest.CreateResponse[SubscriptionState]{ID: in.Database + "." + in.Name, State: SubscriptionState{in}}, nil
}

// Read finds what the subscription is. Only a superuser can read the connection, so that the recorded one stays for others.
func (o Subscription) Read(ctx context.Context, r guest.ReadRequest[SubscriptionInputs, SubscriptionState]) (guest.ReadResponse[SubscriptionInputs, SubscriptionState], error) {
	var response guest.ReadResponse[SubscriptionInputs, SubscriptionState]
	var in SubscriptionInputs
	in.Database, in.Name = o.server.databaseAnd(r.ID)
	if r.State != nil {
		in = r.State.SubscriptionInputs
	}
	var slot string
	var readable bool
	err := o.server.find(ctx, in.Database, "there is no subscription "+in.Name+" in "+in.Database, `
		SELECT subenabled, coalesce(subslotname::text, ''), ARRAY(SELECT unnest(subpublications) ORDER BY 1),
			has_column_privilege('pg_subscription', 'subconninfo', 'SELECT')
		FROM pg_subscription WHERE subname = $1 AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())`,
		[]any{in.Name}, &in.Enabled, &slot, &in.Publications, &readable)
	if err != nil {
		return response, err
	}
	slices.Sort(in.Publications)
	switch {
	case readable:
		err := o.server.find(ctx, in.Database, "there is no subscription "+in.Name+" in "+in.Database, `
			SELECT subconninfo FROM pg_subscription WHERE subname = $1 AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())`,
			[]any{in.Name}, &in.Conninfo)
		if err != nil {
			return response, err
		}
	case r.State == nil:
		return response, guest.InvalidArgument("id", "only a superuser can import a subscription, because PostgreSQL lets no other role read its conninfo")
	}
	switch {
	case r.State == nil:
		in.CreateSlot = slot != ""
		if in.SlotName = slot; slot == in.Name {
			in.SlotName = ""
		}
	case in.SlotName != "" || slot != in.Name:
		in.SlotName = slot
	}
	response.Inputs, response.State = in, SubscriptionState{in}
	if r.State == nil {
		response.ID = in.Database + "." + in.Name
	}
	if r.Inputs != nil && r.Inputs.Database == "" || r.Inputs == nil && in.Database == o.server.database("") {
		response.Inputs.Database = ""
	}
	return response, nil
}

// Update starts or stops making changes.
func (o Subscription) Update(ctx context.Context, r guest.UpdateRequest[SubscriptionInputs, SubscriptionState]) (guest.UpdateResponse[SubscriptionState], error) {
	in := r.Inputs
	in.Database = r.State.Database
	statement := "ALTER SUBSCRIPTION " + name(in.Name) + " DISABLE"
	if in.Enabled {
		statement = "ALTER SUBSCRIPTION " + name(in.Name) + " ENABLE"
	}
	return guest.UpdateResponse[SubscriptionState]{State: SubscriptionState{in}}, o.server.run(ctx, in.Database, statement)
}

// Delete deletes the subscription. The slot on the publisher goes with it if it was made with it.
func (o Subscription) Delete(ctx context.Context, r guest.DeleteRequest[SubscriptionState]) error {
	subscription := name(r.State.Name)
	var err error
	if r.State.CreateSlot {
		err = o.server.execute(ctx, r.State.Database, "DROP SUBSCRIPTION IF EXISTS "+subscription)
	} else {
		err = o.server.run(ctx, r.State.Database, "ALTER SUBSCRIPTION "+subscription+" DISABLE",
			"ALTER SUBSCRIPTION "+subscription+" SET (slot_name = NONE)", "DROP SUBSCRIPTION "+subscription)
	}
	if isCode(err, invalidCatalogName, undefinedObject) {
		return guest.NotFound("there is no subscription " + r.State.Name + " in " + r.State.Database)
	}
	return err
}
