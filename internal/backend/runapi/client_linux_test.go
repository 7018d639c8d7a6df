package runapi_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/testkit/faultproxy"
)

// The machine of a server is gone without a word. All calls had one connection, which is given up for one to whichever server is at the
// address now.
func TestAMachineThatIsGone(t *testing.T) {
	if testing.Short() {
		t.Skip("the connection is given up after eight seconds")
	}
	var others atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			others.Add(1)
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	roots := filepath.Join(t.TempDir(), "roots.pem")
	require.NoError(t, os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	t.Setenv("SSL_CERT_FILE", roots)
	proxy := faultproxy.Start(t, strings.TrimPrefix(server.URL, "https://"))
	client, err := runapi.NewClient("https://"+proxy.Address(), "token")
	require.NoError(t, err)
	call := func() error {
		_, err := client.AttemptsOf(time.Second).Call(t.Context(), http.MethodPost, "/", "body", nil)
		return err
	}
	require.NoError(t, call())
	proxy.Deafen()
	require.NoError(t, call())
	require.Zero(t, others.Load())
}
