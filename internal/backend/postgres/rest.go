package postgres

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

// modules implements [backend.Modules].
type modules struct{ db *db }

// unused is when a module that no state names can be removed: no run takes so long from keeping it to
// naming it.
const unused = "kept < now() - interval '7 days'"

func (m modules) Has(ctx context.Context, digest string) (bool, error) {
	rows, err := m.db.read(ctx, sql("SELECT 1 FROM @modules WHERE digest = $1", digest))
	return len(rows) > 0, err
}

func (m modules) Get(ctx context.Context, digest string) ([]byte, error) {
	rows, err := m.db.readBounded(ctx, one("content", "", "@modules WHERE digest = $1", digest))
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, backend.NoModule(digest, m.db.place)
	}
	return rows[0][0], nil
}

func (m modules) Put(ctx context.Context, digest string, content func() ([]byte, error)) error {
	rows, _, err := m.db.step(ctx, sql("UPDATE @modules SET kept = now() WHERE digest = $1 RETURNING 1", digest))
	if err != nil || len(rows) > 0 {
		return err
	}
	data, err := content()
	if err != nil {
		return err
	}
	_, _, err = m.db.step(ctx, sql("INSERT INTO @modules VALUES ($1, $2, now()) ON CONFLICT (digest) DO UPDATE SET kept = now()", digest, data))
	return err
}

// touch protects modules that are in use. Once a day is enough, and does not have runs wait for each other.
func touch(digests []string) statement {
	return sql("UPDATE @modules SET kept = now() WHERE digest = ANY($1::text[]) AND kept < now() - interval '1 day'", textArray(digests))
}

// stored returns the modules that are stored.
func stored(digests []string) statement {
	return sql("SELECT digest FROM @modules WHERE digest = ANY($1::text[])", textArray(digests))
}

// textArray returns digests, in which nothing is to be escaped, as an array.
func textArray(digests []string) string { return "{" + strings.Join(digests, ",") + "}" }

func (m modules) Collect(ctx context.Context, inUse func() (map[string]bool, error)) error {
	rows, err := m.db.read(ctx, sql("SELECT digest FROM @modules WHERE "+unused))
	if err != nil || len(rows) == 0 {
		return err
	}
	named, err := inUse()
	if err != nil {
		return err
	}
	for _, r := range rows {
		if digest := r.text(0); !named[digest] {
			// A run that keeps the module meanwhile has made it a new one.
			if _, _, err := m.db.step(ctx, sql("DELETE FROM @modules WHERE digest = $1 AND "+unused, digest)); err != nil {
				return err
			}
		}
	}
	return nil
}

// ofStack is the condition for the rows of a stack.
const ofStack = " stack = (SELECT id FROM @stacks WHERE project = $1 AND name = $2 AND present)"

// kv implements [backend.KV].
type kv struct{ db *db }

func (k kv) List(ctx context.Context, stack state.StackName) ([]string, error) {
	return names(ctx, k.db, "SELECT provider AS name FROM @kv WHERE"+ofStack, stack)
}

// names returns the names that a query about a stack finds, sorted.
func names(ctx context.Context, d *db, query string, stack state.StackName) ([]string, error) {
	rows, err := d.readBounded(ctx, func(most int64) statement {
		return listed(query, "name", `name COLLATE "C"`, most, stack.Project, stack.Name)
	})
	var out []string
	for _, r := range rows {
		out = append(out, r.text(0))
	}
	return out, err
}

// listed is the query of a list of texts, in columns and in an order, for [db.readBounded].
func listed(query, columns, order string, most int64, args ...any) statement {
	all := strings.Split(columns, ", ")
	parameter := fmt.Sprintf("$%d::bigint", len(args)+1)
	return sql(fmt.Sprintf(`WITH q AS (%s), z AS (SELECT coalesce(sum(length(%s) + %d), 0)::bigint AS size FROM q)
		SELECT size, %s FROM z LEFT JOIN q ON size <= %s WHERE size > %[5]s OR %s IS NOT NULL ORDER BY %s`,
		query, strings.Join(all, ") + length("), nameSize, columns, parameter, all[0], order), append(slices.Clone(args), most)...)
}

func (k kv) Load(ctx context.Context, stack state.StackName, provider string) (content []byte, version string, err error) {
	rows, err := k.db.readBounded(ctx, one("content", ", version", "@kv WHERE"+ofStack+" AND provider = $3", stack.Project, stack.Name, provider))
	if err != nil || len(rows) == 0 {
		return nil, "", err
	}
	return rows[0][0], strconv.FormatInt(rows[0].int(1), 10), nil
}

func (k kv) Save(ctx context.Context, stack state.StackName, provider string, content []byte, version string) (string, error) {
	old, token := int64(0), backend.Token(ctx)
	save := sql(`INSERT INTO @kv SELECT id, $3, $5::bigint + 1, $4 FROM @stacks WHERE project = $1 AND name = $2 AND present
			AND `+fencedBy("$6")+` ON CONFLICT DO NOTHING RETURNING version`, stack.Project, stack.Name, provider, content, old, token)
	if version != "" {
		var err error
		if old, err = strconv.ParseInt(version, 10, 64); err != nil {
			return "", err
		}
		save = sql(`UPDATE @kv SET content = $4, version = version + 1
			WHERE stack = (SELECT id FROM @stacks WHERE project = $1 AND name = $2 AND present AND `+fencedBy("$6")+`) AND provider = $3 AND version = $5 RETURNING version`,
			stack.Project, stack.Name, provider, content, old, token)
	}
	rows, repeated, err := k.db.step(ctx, holding(stack, token), save)
	if err != nil {
		return "", err
	}
	next := strconv.FormatInt(old+1, 10)
	if len(rows) > 0 {
		return next, nil
	}
	if repeated {
		// An attempt whose answer was lost may have saved it.
		saved, err := k.db.confirm(ctx, sql("SELECT version FROM @kv WHERE"+ofStack+" AND provider = $3 AND version = $4 AND content = $5",
			stack.Project, stack.Name, provider, old+1, content))
		if err != nil {
			return "", err
		}
		if len(saved) > 0 {
			return next, nil
		}
	}
	if err := k.db.fenced(ctx, stack, token); err != nil {
		return "", err
	}
	return "", fmt.Errorf("what %s stores for the stack %s: %w", provider, stack, backend.ErrChanged)
}

// fencedBy is the condition for the row of a stack without a later lease than the one of the token in a parameter, which
// is 0 for none.
func fencedBy(parameter string) string {
	return "(" + parameter + "::bigint = 0 OR token = " + parameter + "::bigint)"
}

// holding keeps others from taking the lease of a stack until the end of the step, so that they see all earlier writes under the
// lease, and later ones are refused.
func holding(stack state.StackName, token uint64) statement {
	return sql("SELECT id FROM @stacks WHERE project = $1 AND name = $2 AND token = $3 FOR NO KEY UPDATE", stack.Project, stack.Name, token)
}

// fenced returns an error if there was another lease since the one of a token, which is 0 for none.
func (d *db) fenced(ctx context.Context, stack state.StackName, token uint64) error {
	if token == 0 {
		return nil
	}
	rows, err := d.read(ctx, sql("SELECT id FROM @stacks WHERE project = $1 AND name = $2 AND present AND token = $3", stack.Project, stack.Name, token))
	if err == nil && len(rows) == 0 {
		err = state.Fenced(stack)
	}
	return err
}

// runs implements [backend.History].
type runs struct{ db *db }

func (h runs) List(ctx context.Context, stack state.StackName) ([]string, error) {
	return names(ctx, h.db, "SELECT run AS name FROM @runs WHERE"+ofStack, stack)
}

func (h runs) Get(ctx context.Context, stack state.StackName, id string) ([]byte, error) {
	rows, err := h.db.readBounded(ctx, one("content", "", "@runs WHERE"+ofStack+" AND run = $3", stack.Project, stack.Name, id))
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("there is no record %s of the stack %s: %w", id, stack, fs.ErrNotExist)
	}
	return rows[0][0], nil
}

func (h runs) Put(ctx context.Context, stack state.StackName, id string, content []byte) error {
	_, _, err := h.db.step(ctx, putRun(stack, id, content)...)
	return err
}

// putRun stores the record of a run, and removes the oldest ones.
func putRun(stack state.StackName, id string, content []byte) []statement {
	return []statement{
		sql(`INSERT INTO @runs SELECT id, $3, $4 FROM @stacks WHERE project = $1 AND name = $2 AND present
			ON CONFLICT (stack, run) DO UPDATE SET content = excluded.content`, stack.Project, stack.Name, id, content),
		sql("DELETE FROM @runs WHERE"+ofStack+` AND run COLLATE "C" <= (SELECT run FROM @runs WHERE`+ofStack+` ORDER BY run COLLATE "C" DESC OFFSET $3 LIMIT 1)`,
			stack.Project, stack.Name, backend.KeptRecords),
	}
}
