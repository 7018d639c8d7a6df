package capability

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/urn"
)

// Limits on a provider's use of its store.
const (
	// MaxKVKey bounds a key in bytes.
	MaxKVKey = 512
	// MaxKVValue bounds a value in bytes. Larger data belongs in a file.
	MaxKVValue = 256 << 10
	// MaxKVKeys is how many keys one answer lists.
	MaxKVKeys = 1000
)

// KV is the store of one provider, for one call.
type KV struct {
	store abi.KV
	// space is the prefix of one configuration's keys in the store, spaceOf its provider resource: no configuration sees
	// another's values.
	space  string
	advice Advice
	used   Uses
}

// NewKV returns a provider resource's part of a store. Without a store, each use is refused.
func NewKV(store abi.KV, provider urn.URN, advice Advice, used Uses) KV {
	kv := KV{store: store, advice: advice, used: used}
	if store != nil {
		kv.space = spaceOf(provider)
	}
	return kv
}

// spaceOf returns the prefix of keys in the part of a store that belongs to a provider resource. All default providers of a
// package share one, whichever version they ask for. Values from before a provider is configured have a part of their own.
func spaceOf(provider urn.URN) string {
	name := provider.Name()
	if strings.HasPrefix(name, "default_") {
		name = "default"
	}
	return strconv.Quote(provider.Type()+"::"+name) + "\n" // there is no other line break in it
}

var _ abi.KV = KV{}

// Get returns a key's value.
func (k KV) Get(ctx context.Context, key string) (abi.KVItem, error) {
	if err := k.admit("get", key); err != nil {
		return abi.KVItem{}, err
	}
	return k.store.Get(ctx, k.space+key)
}

// Put writes or deletes a value, if the key still has the revision.
func (k KV) Put(ctx context.Context, key string, value *[]byte, revision uint64) (uint64, error) {
	if err := k.admit("put", key); err != nil {
		return 0, err
	}
	if value != nil && len(*value) > MaxKVValue {
		return 0, Failure(abi.ErrorKindInvalidArgument, fmt.Sprintf("the value has %d bytes, at most %d can be stored under one key", len(*value), MaxKVValue))
	}
	return k.store.Put(ctx, k.space+key, value, revision)
}

// Keys lists keys in order.
func (k KV) Keys(ctx context.Context, prefix, after string, limit uint32) ([]string, error) {
	if err := k.admit("keys", prefix); err != nil {
		return nil, err
	}
	if after != "" {
		if err := k.admit("keys", after); err != nil {
			return nil, err
		}
		after = k.space + after
	}
	keys, err := k.store.Keys(ctx, k.space+prefix, after, min(limit, MaxKVKeys))
	for i, key := range keys {
		keys[i] = strings.TrimPrefix(key, k.space)
	}
	return keys, err
}

// admit checks a key or prefix, and lists the use.
func (k KV) admit(what, key string) error {
	var err error
	switch {
	case k.store == nil:
		err = k.advice.Denied("the provider may not keep values: its grants have no store", grant.Text{Capability: grant.NameKV})
	case len(key) > MaxKVKey || !utf8.ValidString(key) || key == "" && what != "keys":
		return Failure(abi.ErrorKindInvalidArgument, fmt.Sprintf("a key is text of 1 to %d bytes", MaxKVKey))
	}
	k.used.Note(grant.Text{Capability: grant.NameKV}, what+" "+key, err)
	return err
}
