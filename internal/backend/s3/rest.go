package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

// modules implements [backend.Modules].
type modules struct{ b *bucket }

func (m modules) key(digest string) string {
	sum, _ := backend.SumOf(digest)
	return "modules/" + sum + ".wasm"
}

func (m modules) Has(ctx context.Context, digest string) (bool, error) {
	err := m.b.do(ctx, rightGet, 0, func(ctx context.Context) error {
		_, err := m.b.client.StatObject(ctx, m.b.name, m.b.prefix+m.key(digest), minio.StatObjectOptions{})
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (m modules) Get(ctx context.Context, digest string) ([]byte, error) {
	o, err := m.b.get(ctx, m.key(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, backend.NoModule(digest, m.b.place)
	}
	if err != nil {
		return nil, err
	}
	return o.content, nil
}

func (m modules) Put(ctx context.Context, digest string, content func() ([]byte, error)) error {
	if has, err := m.Has(ctx, digest); has || err != nil {
		return err
	}
	data, err := content()
	if err != nil {
		return err
	}
	if _, err = m.b.put(ctx, m.key(digest), data, ifAbsent); errors.Is(err, errCondition) {
		err = nil // another run was faster, with the same content
	}
	return err
}

// Collect implements [backend.Modules]. Modules stay: S3 cannot remove an object on the condition that no
// run has begun to use it.
func (m modules) Collect(context.Context, func() (map[string]bool, error)) error { return nil }

const kvDir, runsDir = "kv/", "runs/"

// kv implements [backend.KV]. Versions are the versions of objects.
type kv struct{ s *Store }

// below returns a directory of a stack, "" if there is no such stack. The holder of its lease knows it.
func (s *Store) below(ctx context.Context, stack state.StackName, part string) (string, error) {
	if h, ok := s.heldBy(stack, backend.Token(ctx)); ok {
		return h.directory + part, nil
	}
	c, err := s.read(ctx, stack)
	if err != nil || !c.Body.Present {
		return "", err
	}
	return c.Body.directory() + part, nil
}

func (k kv) List(ctx context.Context, stack state.StackName) ([]string, error) {
	dir, err := k.s.below(ctx, stack, kvDir)
	if err != nil || dir == "" {
		return nil, err
	}
	return k.s.b.list(ctx, dir)
}

func (k kv) Load(ctx context.Context, stack state.StackName, provider string) (content []byte, version string, err error) {
	if err := backend.CheckProvider(provider); err != nil {
		return nil, "", err
	}
	dir, err := k.s.below(ctx, stack, kvDir)
	if err != nil || dir == "" {
		return nil, "", err
	}
	o, err := k.s.b.get(ctx, dir+provider)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	return o.content, o.version, nil
}

func (k kv) Save(ctx context.Context, stack state.StackName, provider string, content []byte, version string) (string, error) {
	if err := backend.CheckProvider(provider); err != nil {
		return "", err
	}
	c, err := k.s.find(ctx, stack)
	if err == nil {
		err = c.fenced(backend.Token(ctx))
	}
	if err != nil {
		return "", err
	}
	dir := c.Body.directory() + kvDir
	next, err := k.s.b.put(ctx, dir+provider, content, version)
	if errors.Is(err, errCondition) {
		if is, readErr := k.s.b.get(ctx, dir+provider); readErr == nil && bytes.Equal(is.content, content) {
			return is.version, nil // an attempt whose answer was lost has written it
		}
		return "", fmt.Errorf("what %s stores for the stack %s: %w", provider, stack, backend.ErrChanged)
	}
	return next, err
}

// runs implements [backend.History].
type runs struct{ s *Store }

const runSuffix = ".jsonl"

func (h runs) List(ctx context.Context, stack state.StackName) ([]string, error) {
	dir, err := h.s.below(ctx, stack, runsDir)
	if err != nil || dir == "" {
		return nil, err
	}
	keys, err := h.s.b.list(ctx, dir)
	return idsOf(keys), err
}

func idsOf(keys []string) (ids []string) {
	for _, key := range keys {
		if id, ok := strings.CutSuffix(key, runSuffix); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

func (h runs) Get(ctx context.Context, stack state.StackName, id string) ([]byte, error) {
	if err := backend.CheckRecord(id); err != nil {
		return nil, fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	}
	dir, err := h.s.below(ctx, stack, runsDir)
	if err != nil {
		return nil, err
	}
	o, err := h.s.b.get(ctx, dir+id+runSuffix)
	if err != nil {
		return nil, err
	}
	return o.content, nil
}

func (h runs) Put(ctx context.Context, stack state.StackName, id string, content []byte) error {
	dir, err := h.s.below(ctx, stack, runsDir)
	if err == nil && dir == "" {
		err = state.StackNotFound(stack, h.s.b.place)
	}
	if err != nil {
		return err
	}
	return h.s.putRun(ctx, dir, id, content, 0)
}

// putRun stores the record of a run in a directory, and removes the oldest ones if there are more than are kept and some
// to spare.
func (s *Store) putRun(ctx context.Context, dir, id string, content []byte, spare int) error {
	if err := backend.CheckRecord(id); err != nil {
		return err
	}
	var keys []string
	err := each(2, func(i int) (err error) {
		if i == 0 {
			_, err = s.b.put(ctx, dir+id+runSuffix, content, unconditional)
		} else {
			keys, err = s.b.list(ctx, dir)
		}
		return err
	})
	if err != nil {
		return err
	}
	ids := idsOf(keys)
	if !slices.Contains(ids, id) { // it was listed before it was written
		ids = append(ids, id)
		slices.Sort(ids)
	}
	if len(ids) <= backend.KeptRecords+spare {
		return nil
	}
	old := ids[:len(ids)-backend.KeptRecords]
	return each(len(old), func(i int) error { return s.b.remove(ctx, dir+old[i]+runSuffix) })
}
