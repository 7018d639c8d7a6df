package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// DigestError says that bytes have another digest than the wanted one. They were not used.
type DigestError struct {
	// What names the thing with these bytes.
	What      string
	Want, Got string
}

func (e *DigestError) Error() string {
	return fmt.Sprintf("%s does not have the module that is wanted: its digest is %s, and %s is wanted", e.What, e.Got, e.Want)
}

// SizeError says that a module is larger than allowed, or has another size than was announced.
type SizeError struct {
	What string
	// Size is the size in bytes, and Most the limit.
	Size, Most int64
}

func (e *SizeError) Error() string {
	if e.Size < 0 {
		return fmt.Sprintf("%s has more than %d bytes, the limit", e.What, e.Most)
	}
	return fmt.Sprintf("%s has %d bytes, and the limit is %d", e.What, e.Size, e.Most)
}

// ErrOffline is the error for data that only the network has.
var ErrOffline = errors.New("the network is not used, because HUSK_OFFLINE or --offline says so")

// ErrNotFound is the error for a repository, version, or file that does not exist.
var ErrNotFound = errors.New("not found")

// stallError says that nothing came for a while.
type stallError struct{ after time.Duration }

func (e stallError) Error() string { return fmt.Sprintf("nothing was received for %s", e.after) }

// statusError is the answer of a server that is not the content.
type statusError struct {
	url    string
	status int
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s answered with the status %d %s", e.url, e.status, http.StatusText(e.status))
}

func (e *statusError) Is(target error) bool {
	return target == ErrNotFound && e.status == http.StatusNotFound
}

// explained adds its subject to an error of a registry, and what to do. what is a reference, and host the registry.
func explained(what, host string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, errdef.ErrNotFound) || statusOf(err) == http.StatusNotFound {
		return fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	return advised(host, fmt.Errorf("%s: %w", what, err))
}

// statusOf returns the status that a server answered with, 0 for other errors.
func statusOf(err error) int {
	if response, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		return response.StatusCode
	}
	if own, ok := errors.AsType[*statusError](err); ok {
		return own.status
	}
	return 0
}

// advised adds what to do to an error of a server.
func advised(host string, err error) error {
	status := statusOf(err)
	switch {
	case errors.Is(err, auth.ErrBasicCredentialNotFound), status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fmt.Errorf("%w\nit wants other credentials: log in with \"docker login %s\", or check that you may use it", err, host)
	case status == http.StatusTooManyRequests:
		return fmt.Errorf("%w\nit allows no more requests for now: try again later, or log in", err)
	case status >= http.StatusInternalServerError:
		return fmt.Errorf("%w\nit has a problem: try again later", err)
	}
	return err
}
