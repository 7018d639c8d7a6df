package sealed_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/engine/state/memstore"
	"github.com/husk-dev/husk/engine/state/storetest"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/backendtest"
	"github.com/husk-dev/husk/internal/backend/s3"
	"github.com/husk-dev/husk/internal/backend/sealed"
	"github.com/husk-dev/husk/internal/backend/sqlite"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/testkit/s3test"
)

var (
	ctx    = context.Background()
	stack  = state.StackName{Project: "p", Name: "s"}
	holder = state.Holder{PID: 1}
)

const canary = "canary-of-a-state"

// place is a backend, and what reads all that it has.
type place struct {
	open  func() *backend.Backend
	bytes func() []byte
}

func allFiles(t *testing.T, dir string) []byte {
	var all []byte
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		all = append(append(all, path...), content...)
		return err
	}))
	return all
}

func filePlace(t *testing.T) place {
	dir := t.TempDir()
	return place{func() *backend.Backend { return backend.Files(dir, filestore.New(dir)) }, func() []byte { return allFiles(t, dir) }}
}

func sqlitePlace(t *testing.T) place {
	dir := t.TempDir()
	return place{func() *backend.Backend {
		b, err := sqlite.Open(ctx, "sqlite://"+filepath.ToSlash(filepath.Join(dir, "stacks.db")), t.TempDir())
		require.NoError(t, err)
		t.Cleanup(b.Close)
		return b
	}, func() []byte { return allFiles(t, dir) }}
}

func s3Place(t *testing.T) place {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	bucket := s3test.New()
	url := s3test.Start(t, bucket)
	return place{func() *backend.Backend {
		b, err := s3.Open(ctx, named.ByOperator(url, "the test"), t.TempDir())
		require.NoError(t, err)
		return b
	}, func() []byte {
		var all []byte
		for key, content := range bucket.Contents() {
			all = append(append(all, key...), content...)
		}
		return all
	}}
}

var places = map[string]func(*testing.T) place{"file": filePlace, "SQLite": sqlitePlace, "S3": s3Place}

func TestSuites(t *testing.T) {
	for name, open := range places {
		t.Run(name, func(t *testing.T) {
			openNew := func(t *testing.T) *backend.Backend {
				return sealed.New(open(t).open(), secrets.NewProcessKey(), sealed.Full).Backend()
			}
			t.Run("store", func(t *testing.T) {
				storetest.Run(t, func(t *testing.T) state.Store { return openNew(t).State })
			})
			t.Run("backend", func(t *testing.T) { backendtest.Run(t, openNew) })
		})
	}
	t.Run("history", func(t *testing.T) {
		p, keys := sqlitePlace(t), secrets.NewProcessKey()
		backendtest.History(t, func(int) state.Store { return sealed.New(p.open(), keys, sealed.Full).Backend().State })
	})
	t.Run("in clear", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) state.Store {
			return sealed.New(&backend.Backend{State: new(memstore.Store)}, secrets.NewProcessKey(), sealed.Keep).Backend().State
		})
	})
}

// put records a resource with the canary in an input, as a run does.
func put(t *testing.T, st *state.Stack, name string) {
	u := urn.URN("urn:pulumi:s::p::a:b:C::" + name)
	require.NoError(t, st.Append(ctx, state.Entry{state.PutResource{Serial: st.NextSerial(), Resource: &state.Resource{
		URN: u, Type: "a:b:C", Inputs: property.NewMap(property.Entry{Key: "text", Value: property.String(canary)}),
	}}}))
}

func openStack(t *testing.T, s *sealed.Sealing, keys state.KeySource) *state.Stack {
	st, err := state.Open(ctx, s.Backend().State, stack, keys, holder)
	require.NoError(t, err)
	_, err = s.Change(ctx, st)
	require.NoError(t, err)
	return st
}

// use does all that a backend keeps something of, and leaves records in the journal.
func use(t *testing.T, s *sealed.Sealing, keys state.KeySource, text string) {
	b := s.Backend()
	_, version, err := b.KV.Load(ctx, stack, "lab")
	require.NoError(t, err)
	_, err = b.KV.Save(ctx, stack, "lab", []byte(text+canary), version)
	require.NoError(t, err)
	require.NoError(t, b.History.Put(ctx, stack, "run-"+text, []byte(text+canary)))
	a := b.State
	updates, err := a.History(ctx, stack)
	require.NoError(t, err)
	require.NoError(t, a.SetHistory(ctx, stack, append(updates, fmt.Appendf(nil, "{%q:%q}", text, canary))))
	st := openStack(t, s, keys)
	put(t, st, text+"-closed")
	require.NoError(t, st.Close(ctx))
	st = openStack(t, s, keys)
	put(t, st, text+"-open")
	leave(t, b)
}

// leave ends the lease as if its process had ended.
func leave(t *testing.T, b *backend.Backend) { require.NoError(t, b.State.Break(ctx, stack)) }

// requireUsed checks that everything is there.
func requireUsed(t *testing.T, s *sealed.Sealing, keys state.KeySource, resources int, texts ...string) {
	t.Helper()
	b := s.Backend()
	snapshot, _, err := state.Load(ctx, b.State, stack, keys.Open)
	require.NoError(t, err)
	require.Equal(t, resources, snapshot.Len())
	for _, r := range snapshot.Resources() {
		require.Equal(t, property.String(canary), r.Inputs.Get("text"))
	}
	last := texts[len(texts)-1]
	content, _, err := b.KV.Load(ctx, stack, "lab")
	require.NoError(t, err)
	require.Equal(t, last+canary, string(content))
	updates, err := b.State.History(ctx, stack)
	require.NoError(t, err)
	require.Len(t, updates, len(texts))
	for i, text := range texts {
		content, err := b.History.Get(ctx, stack, "run-"+text)
		require.NoError(t, err)
		require.Equal(t, text+canary, string(content))
		require.Equal(t, fmt.Sprintf("{%q:%q}", text, canary), string(updates[i]))
	}
}

// TestNothingInClear checks that no value of a state is anywhere in a backend, and that everything can be read again
// with the key, also after it was changed, and without the mode.
func TestNothingInClear(t *testing.T) {
	for name, open := range places {
		t.Run(name, func(t *testing.T) {
			p, keys := open(t), secrets.NewProcessKey()
			s := sealed.New(p.open(), keys, sealed.Full)
			require.NoError(t, state.Create(ctx, s.Backend().State, stack, keys))
			use(t, s, keys, "one")
			requireUsed(t, s, keys, 2, "one")
			require.NotContains(t, string(p.bytes()), canary)
			require.NotContains(t, string(p.bytes()), "urn:pulumi")
			// Another process, of a project that does not say how its stacks are kept, leaves it so.
			again := sealed.New(p.open(), keys, sealed.Keep)
			is, err := again.IsSealed(ctx, stack)
			require.NoError(t, err)
			require.True(t, is)
			use(t, again, keys, "two")
			requireUsed(t, sealed.New(p.open(), keys, sealed.Keep), keys, 4, "one", "two")
			require.NotContains(t, string(p.bytes()), canary)
			a := again.Backend().State
			backups, err := a.Backups(ctx, stack)
			require.NoError(t, err)
			require.NotEmpty(t, backups)
			for _, info := range backups {
				c, err := a.Backup(ctx, stack, info.ID)
				require.NoError(t, err)
				_, _, err = c.Decode(ctx, keys.Open)
				require.NoError(t, err)
			}
			// Without the key, it is an error that loses nothing.
			other := passphrase(t, "other")
			_, _, err = state.Load(ctx, sealed.New(p.open(), other, sealed.Full).Backend().State, stack, other.Open)
			require.ErrorContains(t, err, "is encrypted")
			_, err = sealed.New(p.open(), other, sealed.Full).Backend().State.Backups(ctx, stack)
			require.NoError(t, err)
			requireUsed(t, sealed.New(p.open(), keys, sealed.Keep), keys, 4, "one", "two")
			// What belongs to a stack goes with it.
			to := state.StackName{Project: "p", Name: "renamed"}
			st := openStack(t, again, keys)
			require.NoError(t, st.Rename(ctx, to, st.Snapshot()))
			require.NoError(t, st.Close(ctx))
			content, _, err := sealed.New(p.open(), keys, sealed.Keep).Backend().KV.Load(ctx, to, "lab")
			require.NoError(t, err)
			require.Equal(t, "two"+canary, string(content))
			require.NotContains(t, string(p.bytes()), canary)
		})
	}
}

// TestOnAndOff checks that a stack that is in clear becomes encrypted, and in clear again, with all that belongs to it.
func TestOnAndOff(t *testing.T) {
	p, keys := filePlace(t), secrets.NewProcessKey()
	clear := sealed.New(p.open(), keys, sealed.Keep)
	require.NoError(t, state.Create(ctx, clear.Backend().State, stack, keys))
	use(t, clear, keys, "one")
	require.Contains(t, string(p.bytes()), canary)

	on := sealed.New(p.open(), keys, sealed.Full)
	st := openStack(t, on, keys)
	for n := range state.KeptBackups + 2 { // until no backup is in clear
		put(t, st, fmt.Sprint("more-", n))
		require.NoError(t, st.Close(ctx))
		st = openStack(t, on, keys)
	}
	require.NoError(t, st.Close(ctx))
	require.NotContains(t, string(p.bytes()), canary)
	const resources = state.KeptBackups + 4
	requireUsed(t, sealed.New(p.open(), keys, sealed.Full), keys, resources, "one")
	st = openStack(t, sealed.New(p.open(), keys, sealed.Full), keys)
	changed, err := on.Change(ctx, st)
	require.NoError(t, err)
	require.False(t, changed, "everything is encrypted")
	require.NoError(t, st.Close(ctx))

	off := sealed.New(p.open(), keys, sealed.Secrets)
	require.NoError(t, openStack(t, off, keys).Close(ctx))
	is, err := sealed.New(p.open(), keys, sealed.Keep).IsSealed(ctx, stack)
	require.NoError(t, err)
	require.False(t, is)
	requireUsed(t, sealed.New(p.open(), keys, sealed.Keep), keys, resources, "one")
	_, _, err = state.Load(ctx, p.open().State, stack, keys.Open)
	require.NoError(t, err, "it is an ordinary state")
}

// TestKeysChange checks that the keys change with the secrets provider, and that what older keys have encrypted can be
// read.
func TestKeysChange(t *testing.T) {
	if testing.Short() {
		t.Skip("derives keys from passphrases, again and again")
	}
	p := sqlitePlace(t)
	first, second := passphrase(t, "first"), passphrase(t, "second")
	s := sealed.New(p.open(), first, sealed.Full)
	require.NoError(t, state.Create(ctx, s.Backend().State, stack, first))
	use(t, s, first, "one")
	both := either{first, second}
	s = sealed.New(p.open(), both, sealed.Full)
	st := openStack(t, s, both)
	next, err := second.New(ctx)
	require.NoError(t, err)
	require.NoError(t, st.ChangeSecrets(ctx, next))
	require.NoError(t, st.Close(ctx))

	_, _, err = state.Load(ctx, sealed.New(p.open(), first, sealed.Full).Backend().State, stack, first.Open)
	require.ErrorIs(t, err, secrets.ErrWrongKey)
	require.NotErrorIs(t, err, state.ErrCorrupt)
	requireUsed(t, sealed.New(p.open(), second, sealed.Full), second, 2, "one")
	use(t, sealed.New(p.open(), second, sealed.Full), second, "two")
	requireUsed(t, sealed.New(p.open(), second, sealed.Full), second, 4, "one", "two")
	require.NotContains(t, string(p.bytes()), canary)
}

// passphrase returns keys of a user with a passphrase.
func passphrase(t *testing.T, text string) secrets.Keys {
	return secrets.Keys{
		LookupEnv: func(name string) (string, bool) { return text, name == "HUSK_CONFIG_PASSPHRASE" },
		ReadFile:  os.ReadFile, ConfigDir: func() (string, error) { return t.TempDir(), nil }, KeyMade: func(string) {},
	}
}

// either opens with the first keys that can.
type either struct{ first, second secrets.Keys }

func (e either) New(ctx context.Context) (secrets.Provider, error) { return e.first.New(ctx) }

func (e either) Open(ctx context.Context, typ string, st json.RawMessage) (secrets.Provider, error) {
	p, err := e.first.Open(ctx, typ, st)
	if err == nil {
		if _, err := p.Encrypt(ctx, ""); err == nil {
			return p, nil
		}
	}
	return e.second.Open(ctx, typ, st)
}

// TestAltered checks that what was altered, or put in the place of something else, is an error, and that the rest is
// not lost.
func TestAltered(t *testing.T) {
	dir, keys := t.TempDir(), secrets.NewProcessKey()
	file := filepath.Join(dir, "stacks.db")
	open := func() *sealed.Sealing {
		b, err := sqlite.Open(ctx, "sqlite://"+filepath.ToSlash(file), t.TempDir())
		require.NoError(t, err)
		t.Cleanup(b.Close)
		return sealed.New(b, keys, sealed.Full)
	}
	db, err := sql.Open("sqlite3", file)
	require.NoError(t, err)
	defer db.Close()
	s := open()
	for _, name := range []state.StackName{stack, {Project: "p", Name: "other"}} {
		require.NoError(t, state.Create(ctx, s.Backend().State, name, keys))
		st, err := state.Open(ctx, s.Backend().State, name, keys, holder)
		require.NoError(t, err)
		put(t, st, "closed")
		require.NoError(t, st.Close(ctx))
		_, err = s.Backend().KV.Save(ctx, name, "lab", []byte(name.Name), "")
		require.NoError(t, err)
		_, err = s.Backend().KV.Save(ctx, name, "lab2", []byte(name.Name), "")
		require.NoError(t, err)
		st, err = state.Open(ctx, s.Backend().State, name, keys, holder)
		require.NoError(t, err)
		for n := range 3 {
			put(t, st, fmt.Sprint(n))
		}
		require.NoError(t, s.Backend().State.Break(ctx, name))
	}
	load := func() error {
		_, _, err := state.Load(ctx, open().Backend().State, stack, keys.Open)
		return err
	}
	require.NoError(t, load())
	for what, c := range map[string]struct {
		statement string
		damages   string
	}{
		"a record is swapped with another":   {"UPDATE journal SET record = (SELECT record FROM journal j WHERE j.stack = 1 AND j.sequence = journal.sequence - 1) WHERE stack = 1 AND sequence = 3", "record 3"},
		"a record of another stack":          {"UPDATE journal SET record = (SELECT record FROM journal j WHERE j.stack = 2 AND j.sequence = 3) WHERE stack = 1 AND sequence = 3", "record 3"},
		"a record is altered":                {"UPDATE journal SET record = CAST(substr(record, 1, 20) || x'00' || substr(record, 22) AS BLOB) WHERE stack = 1 AND sequence = 3", "record 3"},
		"a record is cut short":              {"UPDATE journal SET record = x'' WHERE stack = 1 AND sequence = 3", "record 3"},
		"a record is in clear":               {"UPDATE journal SET record = CAST('[]' AS BLOB) WHERE stack = 1 AND sequence = 3", "record 3"},
		"the checkpoint of another stack":    {"UPDATE checkpoints SET content = (SELECT content FROM checkpoints o WHERE o.stack = 2) WHERE stack = 1", "altered"},
		"an earlier checkpoint of the stack": {"UPDATE checkpoints SET content = (SELECT checkpoint FROM backups WHERE stack = 1 ORDER BY number LIMIT 1) WHERE stack = 1", "altered|sequence number|record 2"},
		"the checkpoint is altered":          {`UPDATE checkpoints SET content = CAST(replace(CAST(content AS TEXT), '"sequence":1', '"sequence":2') AS BLOB) WHERE stack = 1`, "altered"},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := db.Exec("DROP TABLE IF EXISTS kept_s; DROP TABLE IF EXISTS kept_j; CREATE TABLE kept_s AS SELECT * FROM checkpoints; CREATE TABLE kept_j AS SELECT * FROM journal")
			require.NoError(t, err)
			result, err := db.Exec(c.statement)
			require.NoError(t, err)
			n, err := result.RowsAffected()
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
			err = load()
			require.ErrorIs(t, err, state.ErrCorrupt)
			require.Regexp(t, c.damages, err.Error())
			require.NotContains(t, err.Error(), canary)
			s := open()
			if strings.HasPrefix(c.damages, "record") {
				d, err := state.OpenDamaged(ctx, s.Backend().State, stack, holder)
				require.NoError(t, err)
				salvage, err := d.Salvage(ctx)
				require.NoError(t, err)
				require.Equal(t, 1, salvage.Kept)
				require.Equal(t, 2, salvage.Snapshot.Len())
				require.Len(t, salvage.Lost, 2)
				require.Equal(t, uint64(3), salvage.Lost[0].Sequence)
				require.Empty(t, salvage.Lost[0].Changes)
				require.Equal(t, []string{"recorded urn:pulumi:s::p::a:b:C::2"}, salvage.Lost[1].Changes)
				require.NoError(t, d.Close(ctx))
			}
			_, err = db.Exec(`UPDATE checkpoints SET content = (SELECT content FROM kept_s k WHERE k.stack = checkpoints.stack);
				UPDATE journal SET record = (SELECT record FROM kept_j k WHERE k.stack = journal.stack AND k.sequence = journal.sequence)`)
			require.NoError(t, err)
			require.NoError(t, load(), "nothing was lost")
		})
	}
	for what, statement := range map[string]string{
		"values of another stack":    "UPDATE kv SET content = (SELECT content FROM kv o WHERE o.stack = 2 AND o.provider = 'lab') WHERE stack = 1 AND provider = 'lab'",
		"values of another provider": "UPDATE kv SET content = (SELECT content FROM kv o WHERE o.stack = 1 AND o.provider = 'lab2') WHERE stack = 1 AND provider = 'lab'",
		"values that were cut":       "UPDATE kv SET content = substr(content, 1, 20) WHERE stack = 1 AND provider = 'lab'",
	} {
		t.Run(what, func(t *testing.T) {
			_, err := db.Exec(statement)
			require.NoError(t, err)
			_, _, err = open().Backend().KV.Load(ctx, stack, "lab")
			require.ErrorIs(t, err, state.ErrCorrupt)
			require.ErrorContains(t, err, "what the provider lab stores of the stack p/s")
		})
	}
	// A damaged checkpoint is replaced, and what belongs to the stack can still be read.
	_, err = db.Exec(`UPDATE checkpoints SET content = CAST(replace(CAST(content AS TEXT), '"sequence":1', '"sequence":2') AS BLOB) WHERE stack = 1`)
	require.NoError(t, err)
	s = open()
	a := s.Backend().State
	backups, err := a.Backups(ctx, stack)
	require.NoError(t, err)
	backup, err := a.Backup(ctx, stack, backups[0].ID)
	require.NoError(t, err)
	d, err := state.OpenDamaged(ctx, s.Backend().State, stack, holder)
	require.NoError(t, err)
	_, err = d.Restore(ctx, backup)
	require.NoError(t, err)
	require.NoError(t, d.Close(ctx))
	require.NoError(t, load())
	content, _, err := open().Backend().KV.Load(ctx, stack, "lab2")
	require.NoError(t, err)
	require.Equal(t, "s", string(content))
	require.NotContains(t, string(allFiles(t, dir)), canary)
}
