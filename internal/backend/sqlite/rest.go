package sqlite

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

// modules implements [backend.Modules].
type modules struct{ db *db }

// unused is how long a module that no state names stays: no run takes so long from keeping it to naming it.
const unused = 7 * 24 * time.Hour

func (m modules) Has(ctx context.Context, digest string) (has bool, err error) {
	err = m.db.read(ctx, func(t *tx) error {
		var one int
		has, err = t.row("SELECT 1 FROM modules WHERE digest = ?", []any{digest}, &one)
		return err
	})
	return has, err
}

func (m modules) Get(ctx context.Context, digest string) (content []byte, err error) {
	err = m.db.read(ctx, func(t *tx) error {
		if err := t.room("SELECT octet_length(content) FROM modules WHERE digest = ?", digest); err != nil {
			return err
		}
		found, err := t.row("SELECT content FROM modules WHERE digest = ?", []any{digest}, &content)
		if err == nil && !found {
			err = done{backend.NoModule(digest, m.db.file)}
		}
		return err
	})
	return content, err
}

func (m modules) Put(ctx context.Context, digest string, content func() ([]byte, error)) error {
	kept := false
	err := m.db.write(ctx, func(t *tx) error {
		changed, err := t.exec("UPDATE kept SET at = ?2 WHERE digest = ?1", digest, now())
		kept = changed > 0
		return err
	})
	if err != nil || kept {
		return err
	}
	data, err := content()
	if err != nil {
		return err
	}
	return m.db.write(ctx, func(t *tx) error {
		_, err := t.exec("INSERT INTO modules VALUES (?, ?) ON CONFLICT DO NOTHING", digest, blob(data))
		if err == nil {
			_, err = t.exec("INSERT INTO kept VALUES (?, ?) ON CONFLICT (digest) DO UPDATE SET at = excluded.at", digest, now())
		}
		return err
	})
}

func (m modules) Collect(ctx context.Context, inUse func() (map[string]bool, error)) error {
	before := time.Now().Add(-unused).UnixMicro()
	var old []string
	err := m.db.read(ctx, func(t *tx) error {
		return t.rows("SELECT digest FROM kept WHERE at < ?", []any{before}, func(scan func(...any) error) error {
			var digest string
			err := scan(&digest)
			old = append(old, digest)
			return err
		})
	})
	if err != nil || len(old) == 0 {
		return err
	}
	named, err := inUse()
	if err != nil {
		return err
	}
	return m.db.write(ctx, func(t *tx) error {
		for _, digest := range old {
			if named[digest] {
				continue
			}
			// A run that keeps the module meanwhile has made it a new one.
			if _, err := t.exec("DELETE FROM modules WHERE digest = (SELECT digest FROM kept WHERE digest = ? AND at < ?)", digest, before); err != nil {
				return err
			}
		}
		return nil
	})
}

// ofStack is the condition for the rows of a stack.
const ofStack = " stack = (SELECT id FROM stacks WHERE project = ?1 AND name = ?2 AND present)"

// kv implements [backend.KV].
type kv struct{ db *db }

func (k kv) List(ctx context.Context, stack state.StackName) ([]string, error) {
	return k.db.names(ctx, "SELECT provider AS name FROM kv WHERE"+ofStack+" ORDER BY provider", stack)
}

func (d *db) names(ctx context.Context, query string, stack state.StackName) (out []string, err error) {
	err = d.read(ctx, func(t *tx) error {
		if err := t.room("SELECT COALESCE(SUM(octet_length(name) + ?3), 0) FROM ("+query+")", stack.Project, stack.Name, nameSize); err != nil {
			return err
		}
		return t.rows(query, []any{stack.Project, stack.Name}, func(scan func(...any) error) error {
			var name string
			err := scan(&name)
			out = append(out, name)
			return err
		})
	})
	return out, err
}

func (k kv) Load(ctx context.Context, stack state.StackName, provider string) (content []byte, version string, err error) {
	err = k.db.read(ctx, func(t *tx) error {
		if err := t.room("SELECT octet_length(content) FROM kv WHERE"+ofStack+" AND provider = ?3", stack.Project, stack.Name, provider); err != nil {
			return err
		}
		var is int64
		found, err := t.row("SELECT content, version FROM kv WHERE"+ofStack+" AND provider = ?3", []any{stack.Project, stack.Name, provider}, &content, &is)
		if found {
			version = strconv.FormatInt(is, 10)
		}
		return err
	})
	return content, version, err
}

func (k kv) Save(ctx context.Context, stack state.StackName, provider string, content []byte, version string) (string, error) {
	old := int64(0)
	if version != "" {
		var err error
		if old, err = strconv.ParseInt(version, 10, 64); err != nil {
			return "", err
		}
	}
	err := k.db.write(ctx, func(t *tx) error {
		id, err := (&Store{k.db}).stack(t, stack)
		if err == nil {
			err = t.fenced(stack, backend.Token(ctx))
		}
		if err != nil {
			return err
		}
		save := "INSERT INTO kv (stack, provider, content, version) VALUES (?1, ?2, ?3, ?4 + 1) ON CONFLICT DO NOTHING"
		if version != "" {
			save = "UPDATE kv SET content = ?3, version = version + 1 WHERE stack = ?1 AND provider = ?2 AND version = ?4"
		}
		saved, err := t.exec(save, id, provider, blob(content), old)
		if err == nil && saved == 0 {
			err = done{fmt.Errorf("what %s stores for the stack %s: %w", provider, stack, backend.ErrChanged)}
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return strconv.FormatInt(old+1, 10), nil
}

// fenced returns an error if there was another lease of a stack since the one of a token, which is 0 for none.
func (t *tx) fenced(stack state.StackName, token uint64) error {
	var is int64
	found, err := t.row("SELECT token FROM stacks WHERE project = ? AND name = ?", []any{stack.Project, stack.Name}, &is)
	if err == nil && found && token != 0 && token != uint64(is) {
		err = done{state.Fenced(stack)}
	}
	return err
}

// runs implements [backend.History].
type runs struct{ db *db }

func (h runs) List(ctx context.Context, stack state.StackName) ([]string, error) {
	return h.db.names(ctx, "SELECT run AS name FROM runs WHERE"+ofStack+" ORDER BY run", stack)
}

func (h runs) Get(ctx context.Context, stack state.StackName, id string) (content []byte, err error) {
	err = h.db.read(ctx, func(t *tx) error {
		if err := t.room("SELECT octet_length(content) FROM runs WHERE"+ofStack+" AND run = ?3", stack.Project, stack.Name, id); err != nil {
			return err
		}
		found, err := t.row("SELECT content FROM runs WHERE"+ofStack+" AND run = ?3", []any{stack.Project, stack.Name, id}, &content)
		if err == nil && !found {
			err = done{fmt.Errorf("there is no record %s of the stack %s: %w", id, stack, fs.ErrNotExist)}
		}
		return err
	})
	return content, err
}

func (h runs) Put(ctx context.Context, stack state.StackName, id string, content []byte) error {
	return h.db.write(ctx, func(t *tx) error {
		in, err := (&Store{h.db}).stack(t, stack)
		if err != nil {
			return err
		}
		if _, err := t.exec("INSERT INTO runs VALUES (?, ?, ?) ON CONFLICT (stack, run) DO UPDATE SET content = excluded.content", in, id, blob(content)); err != nil {
			return err
		}
		_, err = t.exec("DELETE FROM runs WHERE stack = ?1 AND run <= (SELECT run FROM runs WHERE stack = ?1 ORDER BY run DESC LIMIT 1 OFFSET ?2)", in, backend.KeptRecords)
		return err
	})
}
