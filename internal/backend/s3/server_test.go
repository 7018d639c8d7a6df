package s3_test

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/storetest"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/backendtest"
	"github.com/husk-dev/husk/internal/backend/s3"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/testkit/faultproxy"
)

// at returns the URL of a prefix of a bucket, whose server is reached at another address without TLS, unless that is empty.
func at(t *testing.T, bucket, prefix, address string) string {
	u, err := url.Parse(bucket)
	require.NoError(t, err)
	u.Path = path.Join("/", u.Path, prefix)
	if address != "" {
		query := u.Query()
		query.Set("endpoint", "http://"+address)
		u.RawQuery = query.Encode()
	}
	return u.String()
}

func openURL(t *testing.T, url string) *backend.Backend {
	b, err := s3.Open(t.Context(), named.ByOperator(url, "the test"), t.TempDir())
	require.NoError(t, err)
	return b
}

const keyVariable = "AWS_ACCESS_KEY_ID"

// useKey has the test use other credentials than those of TestMain.
func useKey(t *testing.T, key, secret, token string) {
	t.Setenv(keyVariable, key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_SESSION_TOKEN", token)
}

// suites runs what every backend must pass, in prefixes of a bucket that nobody has used. faults returns the faults that
// happen while several writers use a stack through proxies, which are made meanwhile.
func suites(t *testing.T, bucket string, faults func(proxies *[]*faultproxy.Proxy) []backendtest.Fault) {
	open := func(t *testing.T) *backend.Backend { return openURL(t, at(t, bucket, rand.Text(), "")) }
	t.Run("store", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) state.Store { return open(t).State })
	})
	t.Run("backend", func(t *testing.T) { backendtest.Run(t, open) })
	t.Run("room", func(t *testing.T) { backendtest.Room(t, open(t)) })
	t.Run("fencing", func(t *testing.T) { backendtest.Fencing(t, open(t)) })
	t.Run("more than a page", func(t *testing.T) { pages(t, open(t).State) })
	u, err := url.Parse(bucket)
	require.NoError(t, err)
	// through opens backends through proxies.
	through := func(t *testing.T, prefix string, proxies *[]*faultproxy.Proxy) *backend.Backend {
		proxy := faultproxy.Start(t, strings.TrimPrefix(u.Query().Get("endpoint"), "http://"))
		*proxies = append(*proxies, proxy)
		return openURL(t, at(t, bucket, prefix, proxy.Address()))
	}
	t.Run("history under faults", func(t *testing.T) {
		prefix := rand.Text()
		var proxies []*faultproxy.Proxy
		backendtest.Case{
			SilentAppends: true, Open: func(int) state.Store { return through(t, prefix, &proxies).State }, Faults: faults(&proxies),
		}.Run(t)
	})
	t.Run("endings under faults", func(t *testing.T) {
		prefix := rand.Text()
		var proxies []*faultproxy.Proxy
		backendtest.Endings(t, func(int) *backend.Backend { return through(t, prefix, &proxies) }, faultproxy.Faults(&proxies))
	})
}

// pages leaves more records than a list of objects has at once, and loads and removes them.
func pages(t *testing.T, s state.Store) {
	ctx := t.Context()
	require.NoError(t, s.Create(ctx, stackName, []byte("{}")))
	l, err := s.Lease(ctx, stackName, state.Holder{PID: 1})
	require.NoError(t, err)
	_, err = l.Load(ctx)
	require.NoError(t, err)
	const records = 1005
	for n := range uint64(records) {
		require.NoError(t, l.Append(ctx, n+1, fmt.Append(nil, n)))
	}
	c, err := s.Load(ctx, stackName)
	require.NoError(t, err)
	require.Len(t, c.Records, records)
	for n, r := range c.Records {
		require.Equal(t, fmt.Sprint(n), string(r))
	}
	require.NoError(t, l.Checkpoint(ctx, records, []byte("{}")))
	require.NoError(t, l.Append(ctx, records+1, []byte("last")))
	require.NoError(t, l.Release(ctx))
	c, err = s.Load(ctx, stackName)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("last")}, c.Records)
}

func connectionFaults(proxies *[]*faultproxy.Proxy) []backendtest.Fault {
	return []backendtest.Fault{{Cause: faultproxy.Faults(proxies)}}
}

// serverVariable has the URL of a bucket of a server to run the suites on, such as
// s3://test?endpoint=127.0.0.1:9000&region=garage&s3ForcePathStyle=true&disableSSL=true. Its objects stay.
const serverVariable = "HUSK_TEST_S3"

func TestServer(t *testing.T) {
	bucket := os.Getenv(serverVariable)
	if bucket == "" {
		t.Skip("needs a bucket, whose URL " + serverVariable + " has")
	}
	require.NoError(t, openURL(t, at(t, bucket, rand.Text(), "")).Check(t.Context()))
	suites(t, bucket, connectionFaults)
}
