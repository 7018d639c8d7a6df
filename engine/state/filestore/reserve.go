package filestore

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"math/rand/v2"
	"path"
)

// reserveSize, in bytes, is set aside by a lease that writes. On a full disk it takes the results
// of the operations under way: some dozens of some KB.
const reserveSize = 1 << 20

func (l *lease) reserveFile() string {
	return path.Join(l.files.locks, l.files.name.Name+".reserve")
}

func (l *lease) Reserve(ctx context.Context) error {
	if l.reserve {
		return nil
	}
	if err := errors.Join(ctx.Err(), l.check()); err != nil {
		return err
	}
	if err := l.setReserveAside(); err != nil {
		return errors.Join(l.store.writeError(l.reserveFile(), err), l.store.remove(l.reserveFile()))
	}
	l.reserve = true
	return nil
}

func (l *lease) setReserveAside() error {
	// Data that can be compressed, or is there already, takes no space on some file systems.
	var seed [32]byte
	_, _ = cryptorand.Read(seed[:]) // never fails
	filler := make([]byte, reserveSize)
	_, _ = rand.NewChaCha8(seed).Read(filler) // never fails
	return l.store.put(l.reserveFile(), false, filler)
}

// releaseReserve gives the space back and reports whether there was any.
func (l *lease) releaseReserve() bool {
	if !l.reserve {
		return false
	}
	l.reserve = false
	return l.store.fs.Remove(l.reserveFile()) == nil
}
