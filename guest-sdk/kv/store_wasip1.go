package kv

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
)

func store(context.Context) abi.KV { return bindings.KV() }
