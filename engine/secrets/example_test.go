package secrets_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/husk-dev/husk/engine/secrets"
)

// A stack's state keeps the type and the state of its provider, by which the key is found again.
func Example() {
	ctx := context.Background()
	keys := secrets.NewProcessKey() // or secrets.SystemKeys(…), which looks for a passphrase or a key of the user
	provider, err := keys.New(ctx)
	if err != nil {
		log.Fatal(err)
	}
	ciphertext, err := provider.Encrypt(ctx, "hunter2")
	if err != nil {
		log.Fatal(err)
	}

	again, err := keys.Open(ctx, provider.Type(), provider.State())
	if err != nil {
		log.Fatal(err)
	}
	text, err := again.Decrypt(ctx, ciphertext)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)

	_, err = keys.Open(ctx, secrets.TypePassphrase, provider.State())
	fmt.Println(errors.Is(err, secrets.ErrNoKey))
	// Output:
	// hunter2
	// true
}
