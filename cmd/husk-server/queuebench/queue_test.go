// Package queuebench measures what a full queue and a long history cost with SQLite, or with -args -database URL in an empty database of
// PostgreSQL:
//
//	go test -C cmd/husk-server -run - -bench . -benchtime 200x -timeout 30m ./queuebench
package queuebench

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"       // "pgx" of database/sql
	_ "github.com/ncruces/go-sqlite3/driver" // "sqlite3" of database/sql
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/internal/backend/runapi"
)

var (
	database = flag.String("database", "", "the `URL` of an empty database of PostgreSQL")
	ended    = flag.Int("ended", 1_000_000, "how many ended `runs` there are")
	queued   = flag.Int("queued", 50_000, "how many queued `runs` there are")
)

// stacks is the number of stacks with ended runs, and piles is the number of stacks whose queued runs wait for each other.
const stacks, piles = 1000, 10

// site is a server whose database has many rows.
type site struct {
	b      *testing.B
	dir    string
	server *server.Server
	http   *httptest.Server
	tokens map[string]string
	made   int
}

func (s *site) open(keep time.Duration) {
	s.b.Helper()
	var err error
	s.server, err = server.Open(s.b.Context(), server.Options{Dir: s.dir, Database: *database, Keep: keep})
	require.NoError(s.b, err)
	s.http = httptest.NewServer(s.server)
}

func (s *site) close() {
	s.server.Stop()
	s.http.Close()
	require.NoError(s.b, s.server.Close())
}

// client returns a client with a token of its own, or with the one it had before the server was opened again.
func (s *site) client(team string, role runapi.Role) *runapi.Client {
	s.b.Helper()
	name := team + string(role)
	if s.tokens[name] == "" {
		token, err := s.server.IssueToken(s.b.Context(), runapi.Token{Tenant: team, Name: name, Role: role})
		require.NoError(s.b, err)
		s.tokens[name] = token.Secret
	}
	client, err := runapi.NewClient(s.http.URL, s.tokens[name])
	require.NoError(s.b, err)
	return client
}

// beside opens the database beside the server.
func (s *site) beside() *sql.DB {
	s.b.Helper()
	if *database != "" {
		db, err := sql.Open("pgx", *database)
		require.NoError(s.b, err)
		return db
	}
	file := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(filepath.Join(s.dir, "server.db")), RawQuery: "_pragma=busy_timeout(60000)"}
	db, err := sql.Open("sqlite3", file.String())
	require.NoError(s.b, err)
	return db
}

// scanned returns how many rows of the large tables PostgreSQL has read without an index.
func (s *site) scanned() (rows float64) {
	s.b.Helper()
	if *database == "" {
		return 0 // the tests of the server ask SQLite for the plan of each statement
	}
	db := s.beside()
	defer db.Close()
	require.NoError(s.b, db.QueryRowContext(s.b.Context(), "SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname IN ('husk_runs', 'husk_lines', 'husk_bundles', 'husk_audit')").Scan(&rows))
	return rows
}

// oldest returns the number of the oldest run.
func (s *site) oldest() (number int) {
	s.b.Helper()
	db := s.beside()
	defer db.Close()
	require.NoError(s.b, db.QueryRowContext(s.b.Context(), "SELECT number FROM husk_runs WHERE ended > 0 ORDER BY ended LIMIT 1").Scan(&number))
	return number
}

// add adds runs of a team: ended ones a while ago, or queued ones of so many stacks.
func (s *site) add(team string, n int, state, selector string, stacks int) {
	s.b.Helper()
	s.made++
	end, ready := "0", fmt.Sprintf("CASE WHEN i < %d THEN 1 ELSE 0 END", stacks)
	if state != "queued" {
		end, ready = fmt.Sprintf("%d + i", time.Now().Add(-24*time.Hour).UnixMilli()), "0"
	}
	now := time.Now().UnixMilli()
	s.client(team, runapi.Request) // a run begins only while the token is there that asked for it
	asker := team + string(runapi.Request)
	db := s.beside()
	defer db.Close()
	_, err := db.ExecContext(s.b.Context(), fmt.Sprintf(`INSERT INTO husk_runs (id, tenant, project, stack, request, bundle, selector, state, previewing, requested_by, requested_person,
			requested_projects, approved_by, worker, attempt, token, lease, not_before, cancel, lines, reason, made, began, ended, ready)
		WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d - 1)
		SELECT '%02d-' || i, '%s', 'p' || (i %% 100), 's' || (i %% %d), '{"operation":"up"}', '', '%s', '%s', 0, '%s', '%[7]s', '[]',
			'', '', 0, '', 0, 0, 0, 0, '', %d, 0, %s, %s FROM n`, n, s.made, team, stacks, selector, state, asker, now, end, ready))
	require.NoError(s.b, err)
	if *database != "" { // as autovacuum does a minute later
		_, err := db.ExecContext(s.b.Context(), "ANALYZE husk_runs")
		require.NoError(s.b, err)
	}
}

// claim has a worker take a run, and returns how long that took. The run ends.
func (s *site) claim(worker *runapi.Client) time.Duration {
	s.b.Helper()
	began := time.Now()
	var claim runapi.Claim
	some, err := worker.Call(s.b.Context(), http.MethodPost, "/v1/work/next", runapi.Ask{Worker: "w", Slots: 1}, &claim)
	took := time.Since(began)
	require.NoError(s.b, err)
	require.True(s.b, some)
	client, err := runapi.NewClient(s.http.URL, claim.Token)
	require.NoError(s.b, err)
	_, err = client.CallFor(s.b.Context(), 0, http.MethodPost, "/v1/work/end", runapi.End{Outcome: runapi.Succeeded}, nil)
	require.NoError(s.b, err)
	return took
}

func at(q float64, all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[int(q*float64(len(all)-1))]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func BenchmarkClaim(b *testing.B) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	s := &site{b: b, dir: b.TempDir(), tokens: make(map[string]string)}
	s.open(0)
	defer func() { s.close() }()
	ann, worker := s.client("acme", runapi.Request), s.client("acme", runapi.Work)
	sum := sha256.Sum256([]byte("files"))
	bundle := "sha256:" + hex.EncodeToString(sum[:])
	require.NoError(b, ann.SendBundle(b.Context(), bundle, []byte("files")))
	const none = "ended=0/queued=0"
	var empty time.Duration
	measure := func(name, team string, ask bool) {
		b.Run(name, func(b *testing.B) {
			s.b = b
			worker := s.client(team, runapi.Work)
			before := s.scanned()
			var all []time.Duration
			for range b.N {
				if ask {
					_, err := ann.CallFor(b.Context(), 0, http.MethodPost, "/v1/runs", runapi.NewRun{Project: "shop", Stack: "dev", Operation: "up", Bundle: bundle}, nil)
					require.NoError(b, err)
				}
				all = append(all, s.claim(worker))
			}
			if name == none {
				empty = at(.5, all)
			}
			b.ReportMetric(0, "ns/op") // it is of asking and ending as well
			b.ReportMetric(milliseconds(at(.5, all)), "ms/claim")
			b.ReportMetric(float64(at(.5, all))/float64(empty), "times-empty")
			b.ReportMetric((s.scanned()-before)/float64(b.N), "rows-scanned/claim")
		})
		s.b = b
	}
	for range 50 { // until the server and its connections are warm
		_, err := ann.CallFor(b.Context(), 0, http.MethodPost, "/v1/runs", runapi.NewRun{Project: "shop", Stack: "dev", Operation: "up", Bundle: bundle}, nil)
		require.NoError(b, err)
		s.claim(worker)
	}
	measure(none, "acme", true)
	full := fmt.Sprintf("ended=%d/queued=", *ended)
	s.add("acme", *ended/5, "succeeded", "", stacks)
	measure(fmt.Sprintf("ended=%d/queued=0", *ended/5), "acme", true)
	s.add("acme", *ended-*ended/5, "succeeded", "", stacks)
	measure(full+"0", "acme", true)
	s.add("acme", *queued, "queued", "", *queued)
	measure(fmt.Sprintf("%s%d", full, *queued), "acme", false)
	s.client("piled", runapi.Work)
	s.add("piled", *queued, "queued", "", piles)
	measure(fmt.Sprintf("%s%d/stacks=%d", full, *queued, piles), "piled", false)
	s.add("acme", *queued, "queued", "gpu=yes\n", *queued)
	measure(fmt.Sprintf("%s%d/others-label=%[2]d", full, *queued), "acme", false)

	// The history is pruned, for as long as claims are measured.
	b.Run("pruning", func(b *testing.B) {
		s.b = b
		s.close()
		s.open(time.Hour)
		worker, ready := s.client("acme", runapi.Work), make(chan []time.Duration)
		ctx, stop := context.WithCancel(b.Context())
		go func() {
			var all []time.Duration
			for ctx.Err() == nil {
				began := time.Now()
				for _, path := range []string{"/readyz", "/livez"} {
					if resp, err := http.Get(s.http.URL + path); err == nil {
						_ = resp.Body.Close()
					}
				}
				all = append(all, time.Since(began)/2)
				time.Sleep(time.Millisecond)
			}
			ready <- all
		}()
		for begun := s.oldest(); s.oldest() == begun; { // until pruning has begun
			s.claim(worker)
		}
		var all []time.Duration
		pruned := s.oldest()
		for range b.N {
			all = append(all, s.claim(worker))
		}
		require.True(b, b.N == 1 || s.oldest() > pruned, "pruning has ended")
		stop()
		answers := <-ready
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(milliseconds(at(.5, all)), "ms/claim")
		b.ReportMetric(float64(at(.5, all))/float64(empty), "times-empty")
		b.ReportMetric(milliseconds(at(1, answers)), "ms/readyz-most")
		b.ReportMetric(milliseconds(at(.99, answers)), "ms/readyz-p99")
	})
	s.b = b
}
