package automation

import (
	"context"
	"fmt"
	"time"

	"github.com/husk-dev/husk/engine"
)

// ConfigValue is the value of a key of a stack's configuration.
type ConfigValue struct {
	// Key has a namespace, such as aws:region.
	Key string
	// Value is text as it is, and anything else as JSON. Secrets are in plain text.
	Value string
	// Secret says that some of the value is encrypted in the file.
	Secret bool
}

// Config returns the configuration of the stack's file, sorted by key. It does not have the defaults that the project declares.
func (s *Stack) Config(ctx context.Context) ([]ConfigValue, error) {
	c, err := s.project.workspace.Config(s.name)
	if err != nil {
		return nil, err
	}
	keys := c.Keys()
	values := make([]ConfigValue, len(keys))
	for i, key := range keys {
		value, secret, err := c.Text(key, c.Decrypt(ctx))
		if err != nil {
			return nil, err
		}
		values[i] = ConfigValue{Key: key, Value: value, Secret: secret}
	}
	return values, nil
}

// SetConfig sets a key of the stack's configuration, such as aws:region. It encrypts the value if secret is
// set or the project declares the key as secret.
func (s *Stack) SetConfig(ctx context.Context, key, value string, secret bool) error {
	w := s.project.workspace
	full, err := w.Project.ConfigKey(key)
	if err != nil {
		return err
	}
	c, err := w.Config(s.name)
	if err != nil {
		return err
	}
	return c.Set(ctx, full, nil, value, secret || c.IsSecret(full))
}

// RemoveConfig removes a key from the stack's configuration, and reports whether it was set.
func (s *Stack) RemoveConfig(key string) (bool, error) {
	w := s.project.workspace
	full, err := w.Project.ConfigKey(key)
	if err != nil {
		return false, err
	}
	c, err := w.Config(s.name)
	if err != nil || !c.Remove(full) {
		return false, err
	}
	return true, c.Save()
}

// Export returns the stack's state as Pulumi's deployment JSON, in which secrets are encrypted.
func (s *Stack) Export(ctx context.Context) ([]byte, error) {
	snapshot, codec, err := s.project.workspace.Read(ctx, s.name, true)
	if err != nil {
		return nil, err
	}
	return codec.EncodeExport(ctx, snapshot, false)
}

// Import replaces the stack's state, which may be damaged, with one that [Stack.Export] or Pulumi has written. The error is about
// an export that cannot be read, is of another stack, or is inconsistent. Damaged data is kept in files, whose names it returns.
func (s *Stack) Import(ctx context.Context, export []byte) (aside []string, err error) {
	w := s.project.workspace
	snapshot, codec, err := w.Decode(ctx, export)
	if err != nil {
		return nil, fmt.Errorf("reading the export: %w", err)
	}
	if err := w.CheckImport(s.name, snapshot, export); err != nil {
		return nil, err
	}
	return w.Import(ctx, s.name, snapshot, codec)
}

// Update is a change in a stack's history: a deployment, or an edit by hand.
type Update struct {
	// Kind is the command, such as "up" or "state delete".
	Kind string
	// Result is "succeeded" or "failed".
	Result string
	// Version numbers the changes from 1, and is 0 for one of an earlier version of Husk. Message says what one is for.
	Version    int
	Message    string
	Start, End time.Time
	// User and Host say who made it, and where. Of a run of a server, whose ID is Run, they say who asked for it, and nothing.
	User, Host, Run string
	// Changes counts the changes of a deployment; nil for an edit.
	Changes *engine.Changes
}

// History returns the last 200 changes of the stack, the newest first. damaged counts changes whose records cannot be read.
func (s *Stack) History(ctx context.Context) (updates []Update, damaged int, err error) {
	records, damaged, err := s.project.workspace.History(ctx, s.name)
	for _, u := range records {
		updates = append(updates, Update(u))
	}
	return updates, damaged, err
}

// Unlock ends the lock of a run that is gone. Later writes of that run are refused.
func (s *Stack) Unlock(ctx context.Context) error { return s.project.workspace.Break(ctx, s.name) }

// Rename renames the stack and all that is recorded of it, its configuration file, too. The Stack then has the new name.
func (s *Stack) Rename(ctx context.Context, to string) error {
	err := s.project.workspace.Rename(ctx, s.name, to)
	if err == nil {
		s.name = to
	}
	return err
}
