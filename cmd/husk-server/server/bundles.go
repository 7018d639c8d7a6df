package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"time"

	"github.com/husk-dev/husk/internal/bundle"
	"github.com/husk-dev/husk/internal/runapi"
)

func (s *Server) hasBundle(ctx context.Context, c *caller, digest string) error {
	if err := c.require(runapi.Preview, ""); err != nil {
		return err
	}
	return s.db.step(ctx, func(t *tx) error {
		// One that is used again is not removed before its run is queued.
		n, err := t.exec("UPDATE husk_bundles SET made = ? WHERE tenant = ? AND digest = ?", time.Now().UnixMilli(), c.tenant, digest)
		if err == nil && n == 0 {
			err = refusef(http.StatusNotFound, "the bundle is not here")
		}
		return err
	})
}

func (s *Server) putBundle(r *http.Request, c *caller) (any, error) {
	if err := c.require(runapi.Preview, ""); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, bundle.MaxBytes))
	if err != nil {
		return nil, refusef(http.StatusRequestEntityTooLarge, "a bundle has at most %d MiB", bundle.MaxBytes>>20)
	}
	sum := sha256.Sum256(content)
	if is := "sha256:" + hex.EncodeToString(sum[:]); is != r.PathValue("digest") {
		return nil, refusef(http.StatusBadRequest, "the bundle has the digest %s, and was sent as %s", is, r.PathValue("digest"))
	}
	if err := s.room(r.Context(), c.tenant, int64(len(content))); err != nil {
		return nil, err
	}
	return nil, s.db.step(r.Context(), func(t *tx) error {
		_, err := t.exec("INSERT INTO husk_bundles (tenant, digest, made, content) VALUES (?, ?, ?, ?) ON CONFLICT (tenant, digest) DO UPDATE SET made = excluded.made",
			c.tenant, r.PathValue("digest"), time.Now().UnixMilli(), content)
		return err
	})
}

// sendBundle sends that of a run to the worker that has it.
func (s *Server) sendBundle(w http.ResponseWriter, r *http.Request, c *caller) error {
	if err := c.isRun(); err != nil {
		return err
	}
	var content []byte
	err := s.db.step(r.Context(), func(t *tx) error {
		return t.row("SELECT content FROM husk_bundles WHERE tenant = ? AND digest = ?", c.tenant, c.run.Bundle).Scan(&content)
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/gzip")
	_, _ = w.Write(content) // a worker that is gone asks again
	return nil
}
