package host

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
)

// Limits on what a provider may do with its store.
const (
	// MaxKVKey bounds a key in bytes.
	MaxKVKey = 512
	// MaxKVValue bounds a value in bytes. What is larger belongs into a file.
	MaxKVValue = 256 << 10
	// MaxKVKeys is how many keys one answer lists.
	MaxKVKeys = 1000
)

// guestKV is the store of one provider, for one call.
type guestKV struct {
	store abi.KV
	// space is what the keys of one configuration of the provider begin with in the store,
	// so that none sees what another has: spaceOf its provider resource.
	space string
	how   howToGrant
	used  uses
}

// spaceOf is the part of a store that belongs to a provider resource. All default
// providers of a package have one, whichever version they ask for. What a provider keeps
// before it is configured is in a part of its own.
func spaceOf(provider urn.URN) string {
	name := provider.Name()
	if strings.HasPrefix(name, "default_") {
		name = "default"
	}
	return strconv.Quote(provider.Type()+"::"+name) + "\n" // there is no other line break in it
}

func (s *sandbox) guestKV(used uses) guestKV {
	kv := guestKV{store: s.store, how: s.how, used: used}
	if kv.store != nil { // else nothing is kept
		kv.space = spaceOf(s.configuredAs())
	}
	return kv
}

var _ abi.KV = guestKV{}

func (k guestKV) Get(ctx context.Context, key string) (abi.KVItem, error) {
	if err := k.admit("get", key); err != nil {
		return abi.KVItem{}, err
	}
	return k.store.Get(ctx, k.space+key)
}

func (k guestKV) Put(ctx context.Context, key string, value *[]byte, revision uint64) (uint64, error) {
	if err := k.admit("put", key); err != nil {
		return 0, err
	}
	if value != nil && len(*value) > MaxKVValue {
		return 0, hostError(abi.ErrorKindInvalidArgument, fmt.Sprintf("the value has %d bytes, at most %d can be stored under one key", len(*value), MaxKVValue))
	}
	return k.store.Put(ctx, k.space+key, value, revision)
}

func (k guestKV) Keys(ctx context.Context, prefix, after string, limit uint32) ([]string, error) {
	if err := k.admit("keys", prefix); err != nil {
		return nil, err
	}
	if after != "" {
		after = k.space + after
	}
	keys, err := k.store.Keys(ctx, k.space+prefix, after, min(limit, MaxKVKeys))
	for i, key := range keys {
		keys[i] = strings.TrimPrefix(key, k.space)
	}
	return keys, err
}

// admit checks a key or prefix, and lists the use.
func (k guestKV) admit(what, key string) error {
	var err error
	switch {
	case k.store == nil:
		err = k.how.denied("the provider may not keep values: its grants have no store", Refusal{Capability: "kv"})
	case len(key) > MaxKVKey || !utf8.ValidString(key) || key == "" && what != "keys":
		return hostError(abi.ErrorKindInvalidArgument, fmt.Sprintf("a key is text of 1 to %d bytes", MaxKVKey))
	}
	k.used.note("kv", what+" "+key, err)
	return err
}
