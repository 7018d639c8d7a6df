//go:build !wasip1

package kv

import (
	"context"

	"github.com/husk-dev/husk/abi"
)

func store(ctx context.Context) abi.KV {
	if s, ok := ctx.Value(storeKey{}).(abi.KV); ok {
		return s
	}
	return none{}
}

// none is the store of who has none.
type none struct{}

func (none) refuse() error {
	return abi.NewError(abi.ErrorKindDenied, "there is no store in this program: see kv.WithStore")
}

func (n none) Get(context.Context, string) (abi.KVItem, error) { return abi.KVItem{}, n.refuse() }

func (n none) Put(context.Context, string, *[]byte, uint64) (uint64, error) { return 0, n.refuse() }

func (n none) Keys(context.Context, string, string, uint32) ([]string, error) { return nil, n.refuse() }
