package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/husk-dev/husk/internal/base/named"
)

// Parameters of a URL that have the names and the meaning which they have for pgx's pools.
const (
	maxConnsParameter = "pool_max_conns"
	idleTimeParameter = "pool_max_conn_idle_time"
)

const (
	// defaultConns bounds the connections of a process to one database. A run needs two or three, and a server of Husk
	// shares them between its tenants.
	defaultConns = 16
	// defaultIdleTime is how long a connection is kept for the next step.
	defaultIdleTime = 5 * time.Minute
	// maxIdle bounds the connections that are kept.
	maxIdle = 4
)

// othersParameters are for other users of the same URL, which a server does not know.
var othersParameters = []string{
	"default_query_exec_mode", "statement_cache_capacity", "description_cache_capacity",
	"pool_min_conns", "pool_min_idle_conns", "pool_max_conn_lifetime", "pool_max_conn_lifetime_jitter", "pool_health_check_period",
}

// pool keeps the connections of a process to a database, for all schemas in it: no connection has a state of its own.
type pool struct {
	config *pgconn.Config
	// free has something for each connection that there is, and idleTime is how long one is kept.
	free     chan struct{}
	idleTime time.Duration

	mu   sync.Mutex
	idle []idleConn // the last one was used last
	// ending ends connections that are idle for too long; nil if there are none that are idle.
	ending *time.Timer
	closed bool
}

type idleConn struct {
	*pgconn.PgConn
	since time.Time
}

// newPool returns the pool of a configuration, whose parameters about pools are removed from it.
func newPool(config *pgconn.Config) (*pool, error) {
	p := &pool{config: config, idleTime: defaultIdleTime}
	most := defaultConns
	if text, ok := config.RuntimeParams[maxConnsParameter]; ok {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("the URL of the backend has %s=%q, and that must be a number from 1 on", maxConnsParameter, text)
		}
		most = int(n)
	}
	if text, ok := config.RuntimeParams[idleTimeParameter]; ok {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("the URL of the backend has %s=%q, and that must be a time such as 5m or 30s", idleTimeParameter, text)
		}
		p.idleTime = d
	}
	for _, name := range append([]string{maxConnsParameter, idleTimeParameter}, othersParameters...) {
		delete(config.RuntimeParams, name)
	}
	p.free = make(chan struct{}, most)
	config.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		// A commit that stops waiting for a synchronous replica says so, and then reports success.
		if n.Routine == "SyncRepWaitForLSN" {
			conn.CustomData()[unreplicated] = true
		}
	}
	return p, nil
}

// unreplicated marks a connection whose last commit may be on no replica.
const unreplicated = "unreplicated"

// pools has the pools in use, by their servers.
var pools struct {
	sync.Mutex
	of map[string]*sharedPool
}

type sharedPool struct {
	*pool
	users int
}

// shared returns the pool of this process for a configuration that was read from the URL. The caller calls release when
// it needs it no more.
func shared(at named.URL, config *pgconn.Config) (p *pool, release func(), err error) {
	key := poolKey(at, config)
	pools.Lock()
	defer pools.Unlock()
	s := pools.of[key]
	if s == nil {
		made, err := newPool(config)
		if err != nil {
			return nil, nil, err
		}
		if pools.of == nil {
			pools.of = make(map[string]*sharedPool)
		}
		s = &sharedPool{pool: made}
		pools.of[key] = s
	}
	s.users++
	return s.pool, sync.OnceFunc(func() {
		pools.Lock()
		defer pools.Unlock()
		if s.users--; s.users == 0 {
			delete(pools.of, key)
			s.close()
		}
	}), nil
}

// poolKey tells configurations apart that do not mean the same connections. It shows no password.
func poolKey(at named.URL, config *pgconn.Config) string {
	text := at.Text()
	if base, query, ok := strings.Cut(text, "?"); ok {
		parameters := slices.DeleteFunc(strings.Split(query, "&"), func(p string) bool {
			name, _, _ := strings.Cut(p, "=")
			name, _ = url.QueryUnescape(name)
			return name == schemaParameter
		})
		text = base + "?" + strings.Join(parameters, "&")
	}
	all := []string{text, config.Password}
	if !at.IsOperators() {
		return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(append(all, "a project's"), "\x00"))))
	}
	for _, variable := range os.Environ() {
		if strings.HasPrefix(variable, "PG") {
			all = append(all, variable)
		}
	}
	slices.Sort(all[2:])
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(all, "\x00"))))
}

// take returns a connection that nobody else uses. It is to be given back.
func (p *pool) take(ctx context.Context) (conn *pgconn.PgConn, err error) {
	select {
	case p.free <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("all of the %d connections that %s allows are in use: %w", cap(p.free), maxConnsParameter, ctx.Err())
	}
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		conn = p.idle[n-1].PgConn
		p.idle = p.idle[:n-1]
	}
	p.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	if conn, err = pgconn.ConnectConfig(ctx, p.config); err != nil {
		<-p.free
		return nil, err
	}
	return conn, nil
}

// give takes a connection back, and ends it unless keep is set and it can be kept.
func (p *pool) give(conn *pgconn.PgConn, keep bool) {
	p.mu.Lock()
	keep = keep && !conn.IsClosed() && conn.TxStatus() == 'I' && !p.closed && len(p.idle) < maxIdle
	if keep {
		p.idle = append(p.idle, idleConn{conn, time.Now()})
		if p.ending == nil {
			p.ending = time.AfterFunc(p.idleTime, p.endIdle)
		}
	}
	p.mu.Unlock()
	if !keep {
		closeNow(conn)
	}
	<-p.free
}

// endIdle ends the connections that are idle for too long.
func (p *pool) endIdle() {
	p.mu.Lock()
	var old []idleConn
	for len(p.idle) > 0 && time.Since(p.idle[0].since) >= p.idleTime {
		old = append(old, p.idle[0])
		p.idle = p.idle[1:]
	}
	p.ending = nil
	if len(p.idle) > 0 {
		p.ending = time.AfterFunc(p.idleTime-time.Since(p.idle[0].since), p.endIdle)
	}
	p.mu.Unlock()
	for _, conn := range old {
		closeNow(conn.PgConn)
	}
}

func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	if p.ending != nil {
		p.ending.Stop()
	}
	p.mu.Unlock()
	for _, conn := range idle {
		closeNow(conn.PgConn)
	}
}

// closeNow closes a connection without waiting for the server.
func closeNow(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// errUnreplicated says that a step is committed, and that its commit has not waited for a synchronous replica.
var errUnreplicated = errors.New("the commit was kept from waiting for the synchronous replica")
