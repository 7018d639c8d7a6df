package server

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/husk-dev/husk/cmd/husk-server/keyring"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/backend/sealed"
	"github.com/husk-dev/husk/internal/workspace"
)

// sealedKey is a key of a tenant, encrypted with a key of the server.
type sealedKey struct {
	tenant string
	// number is the number of a replaced key, 0 for the current one.
	number int64
	sealed []byte
	// key is the decrypted key. isFirst says that the first key of the server has encrypted it.
	key     []byte
	isFirst bool
}

// eachKey returns the keys of a tenant, the newest first, or of all tenants if it is empty.
func (s *Server) eachKey(t *tx, tenant string) (all []*sealedKey, err error) {
	ring, err := s.keys.Read()
	if err != nil {
		return nil, err
	}
	return all, t.rows(func(scan func(...any) error) (err error) {
		one := &sealedKey{}
		if err := scan(&one.tenant, &one.number, &one.sealed); err != nil {
			return err
		}
		all = append(all, one)
		if one.key, one.isFirst, err = ring.Open(one.sealed, one.tenant); err != nil {
			err = fmt.Errorf("the key of the tenant %s is encrypted with the key of another server: start this one with the same server.key, or %s", one.tenant, KeyVariable)
		}
		return err
	}, "SELECT * FROM (SELECT name, 0 AS number, key FROM husk_tenants UNION ALL SELECT tenant, number, key FROM husk_former_keys) AS keys"+
		" WHERE ? = '' OR name = ? ORDER BY name, CASE WHEN number = 0 THEN 0 ELSE 1 END, number DESC", tenant, tenant)
}

// keysOf returns the keys of a tenant.
func (s *Server) keysOf(ctx context.Context, tenant string) (ring *keyring.Ring, err error) {
	err = s.db.step(ctx, func(t *tx) error {
		all, err := s.eachKey(t, tenant)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return sql.ErrNoRows
		}
		var keys [][]byte
		for _, one := range all {
			keys = append(keys, one.key)
		}
		ring, err = keyring.New(keys...)
		return err
	})
	return ring, err
}

// checkKey returns an error if the key of the server is not the one that encrypts the tenants' keys.
func (s *Server) checkKey(ctx context.Context) error {
	return s.db.step(ctx, func(t *tx) error {
		_, err := s.checkKeys(t)
		return err
	})
}

// checkKeys is checkKey in a transaction. It returns the tenants that have not ended.
func (s *Server) checkKeys(t *tx) (names []string, err error) {
	if _, err := s.eachKey(t, ""); err != nil {
		return nil, err
	}
	return t.texts("SELECT name FROM husk_tenants WHERE ended = 0 ORDER BY name")
}

// lockTenants keeps other transactions from adding tenants and replacing keys. Transactions of SQLite exclude each other anyway.
func (t *tx) lockTenants() error {
	if !t.postgres {
		return nil
	}
	_, err := t.exec("LOCK TABLE husk_tenants IN SHARE ROW EXCLUSIVE MODE")
	return err
}

// hasTenant reports whether there is a tenant, and returns an error if it has ended.
func (t *tx) hasTenant(name string) (bool, error) {
	var ended int64
	err := t.row("SELECT ended FROM husk_tenants WHERE name = ?", name).Scan(&ended)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err == nil && ended > 0 {
		err = refusef(http.StatusConflict, "the team %s ended at %s, and its name, which the audit log has, is not used again", name, timeOf(ended).Format(time.RFC3339))
	}
	return err == nil, err
}

// addTenant makes a tenant with a new key, unless it exists. The key of the server is read under the lock: one that is replaced
// meanwhile encrypts nothing more.
func (s *Server) addTenant(t *tx, name string) error {
	is, err := t.hasTenant(name)
	if is || err != nil {
		return err
	}
	if err := t.lockTenants(); err != nil {
		return err
	}
	if is, err = t.hasTenant(name); is || err != nil {
		return err
	}
	ring, err := s.keys.Read()
	if err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO husk_tenants (name, key) VALUES (?, ?)", name, ring.Seal(keyring.NewKey(), name))
	return err
}

// RotateKey replaces the key of the server by a new one, and encrypts the keys of all teams with that. It goes on with a rotation that
// was cut off: until its end, both keys are there. byOperator says that the operator removes the former key from [KeyVariable].
func (s *Server) RotateKey(ctx context.Context) (byOperator bool, err error) {
	ring, err := s.keys.Begin()
	if err != nil {
		return false, err
	}
	if err := s.db.step(ctx, func(t *tx) error {
		if err := t.lockTenants(); err != nil {
			return err
		}
		all, err := s.eachKey(t, "")
		if err != nil {
			return err
		}
		for _, one := range all {
			if one.isFirst {
				continue
			}
			sealed := ring.Seal(one.key, one.tenant)
			if one.number > 0 {
				_, err = t.exec("UPDATE husk_former_keys SET key = ? WHERE number = ?", sealed, one.number)
			} else if _, err = t.exec("UPDATE husk_tenants SET key = ? WHERE name = ?", sealed, one.tenant); err == nil {
				err = t.audit(&caller{tenant: one.tenant}, "key.rotate", "server.key", "")
			}
			if err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return false, err
	}
	return s.keys.Finish()
}

// RotateTeamKey has a new key encrypt what a team encrypts from now on. The former ones go on decrypting.
func (s *Server) RotateTeamKey(ctx context.Context, team string) error {
	return s.db.step(ctx, func(t *tx) error {
		if err := t.lockTenants(); err != nil {
			return err
		}
		is, err := t.hasTenant(team)
		if err == nil && !is {
			err = refusef(http.StatusNotFound, "there is no team %q", team)
		}
		if err != nil {
			return err
		}
		ring, err := s.keys.Read()
		if err == nil {
			_, err = t.exec("INSERT INTO husk_former_keys (tenant, key, replaced) SELECT name, key, "+t.now()+" FROM husk_tenants WHERE name = ?", team)
		}
		if err == nil {
			_, err = t.exec("UPDATE husk_tenants SET key = ? WHERE name = ?", ring.Seal(keyring.NewKey(), team), team)
		}
		if err != nil {
			return err
		}
		return t.audit(&caller{tenant: team}, "key.rotate", team, "")
	})
}

// tenant keeps the stacks and the keys of one tenant. It implements [secrets.KeyService].
type tenant struct {
	name    string
	backend *backend.Backend
	// keys are the keys as they were when they were last read, and load reads them.
	keys atomic.Pointer[keyring.Ring]
	load func(context.Context) (*keyring.Ring, error)
}

// readable returns the states of the tenant, decrypted if the server has the key.
func (t *tenant) readable() state.Store {
	return sealed.New(t.backend, ownKeys{t}, sealed.Keep).Backend().State
}

// read reads the keys, which another server may have replaced.
func (t *tenant) read(ctx context.Context) (*keyring.Ring, error) {
	keys, err := t.load(ctx)
	if err == nil {
		t.keys.Store(keys)
	}
	return keys, err
}

// Encrypt encrypts the key of a stack with the tenant's key.
func (t *tenant) Encrypt(ctx context.Context, key []byte) ([]byte, error) {
	keys, err := t.read(ctx)
	if err != nil {
		return nil, err
	}
	return keys.Seal(key, t.name), nil
}

// Decrypt decrypts the key of a stack.
func (t *tenant) Decrypt(ctx context.Context, ciphertext []byte) ([]byte, error) {
	key, _, err := t.keys.Load().Open(ciphertext, t.name)
	if err == nil {
		return key, nil
	}
	keys, err := t.read(ctx)
	if err != nil {
		return nil, err
	}
	if key, _, err = keys.Open(ciphertext, t.name); err != nil {
		return nil, errors.New("the key of the stack was not encrypted by this server for this tenant")
	}
	return key, nil
}

// ownKeys opens the secrets providers of stacks whose key the server keeps, and no others: what a state says of a passphrase, a
// file, or another service is not for this process. It implements [state.KeySource].
type ownKeys struct{ *tenant }

var errOwnKeys = errors.New("the server has the keys only of stacks that use " + workspace.ServerKey)

func (ownKeys) New(context.Context) (secrets.Provider, error) { return nil, errOwnKeys }

// Open opens the provider that a state names.
func (k ownKeys) Open(ctx context.Context, typ string, of json.RawMessage) (secrets.Provider, error) {
	if typ != secrets.TypeCloud {
		return nil, errOwnKeys
	}
	keys := secrets.Keys{Service: func(url string) (secrets.KeyService, error) {
		if url != workspace.ServerKey {
			return nil, errOwnKeys
		}
		return k.tenant, nil
	}}
	return keys.Open(ctx, typ, of)
}

// EndTeam ends a team: it revokes its tokens, and removes its schedules. If the team has stacks or open runs, it does so only with
// withStacks, which removes the stacks and the keys of their secrets, and cancels the runs. Its audit log stays, and nobody gets its name
// again. It goes on with an end that was cut off.
func (s *Server) EndTeam(ctx context.Context, team string, withStacks bool) error {
	operator := &caller{tenant: team, role: runapi.Admin}
	var ended, running int64
	var open []string
	if err := s.db.step(ctx, func(t *tx) (err error) {
		err = t.row("SELECT ended FROM husk_tenants WHERE name = ?", team).Scan(&ended)
		if errors.Is(err, sql.ErrNoRows) {
			return refusef(http.StatusNotFound, "there is no team %q", team)
		}
		if err == nil {
			running, open, err = t.openRuns(team)
		}
		return err
	}); err != nil {
		return err
	}
	if ended == 0 {
		keeper, err := s.tenant(ctx, team)
		if err != nil {
			return err
		}
		stacks, err := keeper.backend.State.List(ctx)
		if err != nil {
			return err
		}
		if running > 0 {
			return errRunning(team, running)
		}
		if !withStacks && len(stacks)+len(open) > 0 {
			return refusef(http.StatusConflict, "the team %s has %d stacks and %d open runs: destroy and remove them first, or remove the stacks without their objects, and cancel the runs, with --with-stacks", team, len(stacks), len(open))
		}
		for _, id := range open {
			if _, err := s.cancelRun(ctx, operator, id, ""); err != nil {
				return err
			}
		}
		if err := s.db.step(ctx, func(t *tx) error { return s.endTeam(t, operator, len(stacks)) }); err != nil {
			return err
		}
		slog.Info("a team has ended", "tenant", team, "stacks", len(stacks))
	}
	return s.removeStates(ctx, team)
}

func errRunning(team string, running int64) error {
	return refusef(http.StatusConflict, "%d runs of the team %s are at workers: cancel them, and wait for their end", running, team)
}

// openRuns counts the runs of a team at workers, and returns its other ones that are not final.
func (t *tx) openRuns(team string) (running int64, others []string, err error) {
	err = t.row("SELECT count(*) FROM husk_runs WHERE tenant = ? AND state = 'running'", team).Scan(&running)
	if err == nil {
		others, err = t.texts("SELECT id FROM husk_runs WHERE tenant = ? AND state IN ('queued', 'running', 'waiting') AND state <> 'running' ORDER BY -number", team)
	}
	return running, others, err
}

// endTeam changes the rows of a team that ends. Runs that were asked for meanwhile are in its way.
func (s *Server) endTeam(t *tx, operator *caller, stacks int) error {
	team := operator.tenant
	if err := t.lockTenants(); err != nil {
		return err
	}
	tokens, err := t.exec("DELETE FROM husk_tokens WHERE tenant = ?", team)
	if err != nil {
		return err
	}
	running, open, err := t.openRuns(team)
	if err != nil {
		return err
	}
	if running+int64(len(open)) > 0 {
		return errRunning(team, running+int64(len(open)))
	}
	ring, err := s.keys.Read()
	if err == nil {
		_, err = t.exec("UPDATE husk_tenants SET ended = "+t.now()+", key = ? WHERE name = ?", ring.Seal(keyring.NewKey(), team), team) // what was encrypted is not to be read
	}
	for _, statement := range []string{"DELETE FROM husk_former_keys WHERE tenant = ?", "DELETE FROM husk_schedules WHERE tenant = ?", "DELETE FROM husk_workers WHERE tenant = ?"} {
		if err == nil {
			_, err = t.exec(statement, team)
		}
	}
	if err != nil {
		return err
	}
	return t.audit(operator, "team.end", team, "%d tokens revoked, %d stacks removed", tokens, stacks)
}
