package server_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/sealed"
	"github.com/husk-dev/husk/internal/runapi"
	"github.com/husk-dev/husk/internal/workspace"
)

// keysOf makes and opens secrets providers with the key that the server keeps, or with a passphrase.
type keysOf struct {
	service    secrets.KeyService
	passphrase string
}

func (k keysOf) keys() secrets.Keys {
	return secrets.Keys{
		LookupEnv: func(name string) (string, bool) { return k.passphrase, name == "HUSK_CONFIG_PASSPHRASE" },
		Service:   func(string) (secrets.KeyService, error) { return k.service, nil },
	}
}

func (k keysOf) New(ctx context.Context) (secrets.Provider, error) {
	if k.passphrase != "" {
		p, err := k.keys().Passphrase()
		if err != nil {
			return nil, err
		}
		return secrets.NewPassphrase(p)
	}
	return k.keys().NewCloud(ctx, workspace.ServerKey)
}

func (k keysOf) Open(ctx context.Context, typ string, of json.RawMessage) (secrets.Provider, error) {
	return k.keys().Open(ctx, typ, of)
}

// The modules that no stack names are removed also if states are encrypted, as long as the server has their keys. It looks
// into no other keys, whatever a state names.
func TestModulesOfEncryptedStacks(t *testing.T) {
	t.Setenv("HUSK_CONFIG_PASSPHRASE", "of the server")
	dir := t.TempDir()
	b := open(t, server.Options{Dir: dir})
	mine := b.stacks(b.client("acme", "ann", runapi.Request).Token())
	put := func(content string) string {
		require.NoError(t, mine.Modules.Put(t.Context(), digest(content), func() ([]byte, error) { return []byte(content), nil }))
		return digest(content)
	}
	create := func(stack string, keys keysOf, module string) {
		name := state.StackName{Project: "shop", Name: stack}
		store := sealed.New(mine, keys, sealed.Full).Backend().State
		urn := func(typ string) string { return "urn:pulumi:" + stack + "::shop::" + typ + "::default" }
		checkpoint := fmt.Sprintf(`{"version":3,"checkpoint":{"stack":%q,"latest":{"manifest":{"time":"2026-01-01T00:00:00Z"},"resources":[`+
			`{"urn":%q,"custom":true,"id":"1","type":"pulumi:providers:lab","inputs":{"__internal":{"digest":%q}}}]}}}`, name.Qualified(), urn("pulumi:providers:lab"), module)
		require.NoError(t, store.Create(t.Context(), name, []byte(checkpoint)))
		c, err := mine.State.Load(t.Context(), name)
		require.NoError(t, err)
		require.NotContains(t, string(c.Checkpoint), module, "it is encrypted")
	}
	old := func() {
		db, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(filepath.Join(dir, "tenants", "acme.db"))+"?_pragma=busy_timeout(15000)")
		require.NoError(t, err)
		_, err = db.Exec("UPDATE modules SET kept = 1")
		require.NoError(t, err)
		require.NoError(t, db.Close())
	}
	has := func(module string) bool {
		has, err := mine.Modules.Has(t.Context(), module)
		require.NoError(t, err)
		return has
	}
	used, unused := put("used"), put("unused")
	create("server", keysOf{service: mine.Keys}, used)
	old()
	require.NoError(t, mine.Modules.Collect(t.Context(), nil))
	require.True(t, has(used))
	require.False(t, has(unused))

	another := put("another")
	create("passphrase", keysOf{passphrase: "of the server"}, used)
	old()
	err := mine.Modules.Collect(t.Context(), nil)
	require.ErrorContains(t, err, "one of the stacks on the server may name any module")
	require.ErrorContains(t, err, "the server has the keys only of stacks that use husk://default")
	require.True(t, has(another))
}
