package server_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/internal/runapi"
)

// written is a log that several goroutines write.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// The log of the server says who issues and revokes which token, and has no secret.
func TestTokensAreLogged(t *testing.T) {
	log := new(written)
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	b := open(t, server.Options{})
	ann := b.client("acme", "ann", runapi.Admin)
	var issued runapi.Token
	_, err := ann.Call(t.Context(), http.MethodPost, "/v1/tokens", runapi.Token{Name: "laptop", Role: runapi.Approve, Projects: []string{"shop"}}, &issued)
	require.NoError(t, err)
	b.revoke(ann, "laptop")
	_, err = ann.CallFor(t.Context(), 0, http.MethodDelete, "/v1/tokens/laptop", nil, nil)
	require.Error(t, err)
	text := log.String()
	for _, want := range []string{
		`msg="a token was issued" tenant=acme token=ann role=admin projects=[] person=ann`, `by="who runs the server"`,
		`msg="a token was issued" tenant=acme token=laptop role=approve projects=[shop] person=ann`, "by=ann",
		`msg="a token was revoked" tenant=acme token=laptop by=ann`,
	} {
		require.Contains(t, text, want)
	}
	require.Equal(t, 1, strings.Count(text, "was revoked"))
	for _, secret := range []string{ann.Token(), issued.Secret} {
		require.NotContains(t, text, secret)
	}
}
