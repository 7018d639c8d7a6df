package state_test

import (
	"context"
	"fmt"
	"log"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/memstore"
)

// A step records that it begins, and then what came of it.
func Example() {
	ctx := context.Background()
	store := new(memstore.Store) // or filestore.New(".husk")
	name := state.StackName{Project: "shop", Name: "dev"}
	keys := secrets.NewProcessKey() // or secrets.SystemKeys(…)
	if err := state.Create(ctx, store, name, keys); err != nil {
		log.Fatal(err)
	}
	stack, err := state.Open(ctx, store, name, keys, state.Holder{PID: 1, Command: "husk up"})
	if err != nil {
		log.Fatal(err)
	}
	defer stack.Close(ctx)

	resource := &state.Resource{URN: urn.New("dev", "shop", "", "a:b:C", "cart"), Type: "a:b:C"}
	op := stack.NextOp()
	err = stack.Append(ctx, state.Entry{
		state.BeginOperation{Op: op, Type: state.OperationCreating, Resource: resource},
	})
	if err != nil {
		log.Fatal(err) // the operation must not begin
	}
	// … the provider makes the resource …
	err = stack.Append(ctx, state.Entry{
		state.EndOperation{Op: op},
		state.PutResource{Serial: stack.NextSerial(), Resource: resource},
	})
	if err != nil {
		log.Fatal(err)
	}
	for serial, r := range stack.Snapshot().Resources() {
		fmt.Println(serial, r.URN)
	}
	// Output: 0 urn:pulumi:dev::shop::a:b:C::cart
}
