package server_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/cmd/husk-server/webhook"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// nightly is a schedule that looks for drift.
func nightly(stack string) runapi.Schedule {
	return runapi.Schedule{Cron: "0 4 * * *", Run: runapi.NewRun{Project: "shop", Stack: stack, Operation: "refresh", Bundle: digest("files"), Options: []string{"--preview-only=true"}}}
}

func (b *bench) setSchedule(c *runapi.Client, name string, schedule runapi.Schedule) (set runapi.Schedule, err error) {
	b.t.Helper()
	_, err = c.CallFor(b.t.Context(), 0, http.MethodPut, "/v1/schedules/"+strings.ReplaceAll(name, " ", "%20"), schedule, &set)
	return set, err
}

func (b *bench) schedule(c *runapi.Client, name string) (schedule runapi.Schedule) {
	b.t.Helper()
	_, err := c.CallFor(b.t.Context(), 0, http.MethodGet, "/v1/schedules/"+name, nil, &schedule)
	require.NoError(b.t, err)
	return schedule
}

func TestSchedules(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		admin, worker := b.client("acme", "admin", runapi.Admin), b.client("acme", "w", runapi.Work)
		_, err := b.setSchedule(admin, "drift", nightly("dev"))
		require.Equal(t, http.StatusConflict, status(err))
		require.ErrorContains(t, err, "the bundle "+digest("files")+" is not here: send it first")
		require.NoError(t, admin.SendBundle(t.Context(), digest("files"), []byte("files")))
		set, err := b.setSchedule(admin, "drift", nightly("dev"))
		require.NoError(t, err)
		require.Equal(t, "admin", set.By)
		require.Equal(t, 4, set.Next.Hour())
		last := ""
		for range 2 { // it is repeated
			require.NoError(t, b.server.Due(t.Context(), "acme", "drift"))
			claim := b.wait(worker)
			require.NotEqual(t, last, claim.ID)
			last = claim.ID
			require.Equal(t, "refresh", claim.Operation)
			require.Equal(t, []string{"--preview-only=true"}, claim.Options)
			require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
		}
		var all []runapi.Schedule
		_, err = admin.Call(t.Context(), http.MethodGet, "/v1/schedules", nil, &all)
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, last, all[0].Last)
		require.Equal(t, set.Next, all[0].Next)
		require.Empty(t, all[0].Reason)
		// Of servers that have one timer, one begins a run, and adds the next timer.
		timers := func() int {
			n, err := b.server.Count(t.Context(), "SELECT count(*) FROM river_job WHERE kind = 'husk_schedule' AND state IN ('available', 'scheduled')")
			require.NoError(t, err)
			return n
		}
		before := timers()
		require.NoError(t, b.server.Begin(t.Context(), "acme", "drift"))
		require.Equal(t, before+1, timers())
		require.NoError(t, b.end(b.wait(worker), runapi.End{Outcome: runapi.Succeeded}))
		require.Nil(t, b.next(worker, "w", nil))
		_, err = admin.Call(t.Context(), http.MethodDelete, "/v1/schedules/drift", nil, nil)
		require.NoError(t, err)
		_, err = admin.CallFor(t.Context(), 0, http.MethodGet, "/v1/schedules/drift", nil, nil)
		require.Equal(t, http.StatusNotFound, status(err))
	})
}

// TestSchedulesThatAreRefused sets what is no schedule, or would never begin a run, or all the time.
func TestSchedulesThatAreRefused(t *testing.T) {
	quiet(t)
	b := open(t, server.Options{})
	admin := b.client("acme", "admin", runapi.Admin)
	require.NoError(t, admin.SendBundle(t.Context(), digest("files"), []byte("files")))
	for line, want := range map[string]string{
		"now and then":                          "is not one of cron",
		"":                                      "is not one of cron",
		"0 0 31 2 *":                            "never comes: no date has this day and this month",
		"0 0 30 2 *":                            "never comes",
		"0 0 31 4,6,9,11 *":                     "never comes",
		"@every 1s":                             "comes more than once in 1m0s",
		"@every 59s":                            "comes more than once in 1m0s",
		"@every -1h":                            "comes more than once in 1m0s",
		"@every 0s":                             "comes more than once in 1m0s",
		"* * * * * *":                           "is not one of cron",
		"*/0 * * * *":                           "is not one of cron",
		"TZ=Europe/Berlin 0 4 * * *":            "is not one of cron in UTC",
		"TZ=0":                                  "is not one of cron in UTC",
		"CRON_TZ=../../etc/passwd * * * * *":    "is not one of cron in UTC",
		strings.Repeat("1,", 200) + "1 * * * *": "is not one of cron in UTC",
	} {
		schedule := nightly("dev")
		schedule.Cron = line
		_, err := b.setSchedule(admin, "s", schedule)
		require.Equal(t, http.StatusBadRequest, status(err), line)
		require.ErrorContains(t, err, want, line)
	}
	for _, line := range []string{"* * * * *", "0 0 29 2 *", "@daily", "@every 1m", "15 */6 1-5 jan,feb mon-fri"} {
		schedule := nightly("dev")
		schedule.Cron = line
		set, err := b.setSchedule(admin, "s", schedule)
		require.NoError(t, err, line)
		require.False(t, set.Next.IsZero(), line)
	}
	_, err := b.setSchedule(admin, "dri ft", nightly("dev"))
	require.Equal(t, http.StatusBadRequest, status(err))
	wrong := nightly("dev")
	wrong.Run.Bundle = "none"
	_, err = b.setSchedule(admin, "s", wrong)
	require.Equal(t, http.StatusBadRequest, status(err))
	wrong = nightly("dev")
	wrong.Run.Directory = strings.Repeat("x", 5000)
	_, err = b.setSchedule(admin, "s", wrong)
	require.Equal(t, http.StatusBadRequest, status(err))
}

// TestSchedulesStop has the token go with which a schedule was set: it begins no run, shows why, and stays stopped when another
// token gets the name.
func TestSchedulesStop(t *testing.T) {
	quiet(t)
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		ann, bob, worker := b.client("acme", "ann", runapi.Admin), b.client("acme", "bob", runapi.Admin), b.client("acme", "w", runapi.Work)
		require.NoError(t, ann.SendBundle(t.Context(), digest("files"), []byte("files")))
		begins := func(name string) bool {
			t.Helper()
			require.NoError(t, b.server.Begin(t.Context(), "acme", name))
			claim := b.next(worker, "w", nil)
			if claim != nil {
				require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
			}
			return claim != nil
		}
		for name, c := range map[string]*runapi.Client{"hers": ann, "his": bob} {
			_, err := b.setSchedule(c, name, nightly(name))
			require.NoError(t, err)
			require.True(t, begins(name))
		}
		stopped := func(name, reason string) {
			t.Helper()
			require.False(t, begins(name))
			is := b.schedule(bob, name)
			require.True(t, is.Next.IsZero())
			require.Equal(t, reason, is.Reason)
		}
		b.revoke(bob, "ann")
		stopped("hers", "the token ann, which has set it, was revoked: set it again")
		require.True(t, begins("his"), "others go on")
		again := b.client("acme", "ann", runapi.Admin)
		stopped("hers", "the token ann, which has set it, was revoked: set it again")
		set, err := b.setSchedule(again, "hers", nightly("hers"))
		require.NoError(t, err)
		require.False(t, set.Next.IsZero())
		require.True(t, begins("hers"))

		// Tokens do not change; if one does, the schedule has what it allows now.
		for change, reason := range map[string]string{
			"expires = 1":            "the token ann, which has set it, has expired: set it again",
			"role = 'approve'":       "the token ann does not allow this: it needs the role admin",
			`projects = '["other"]'`: "the token ann is not for the project shop",
		} {
			require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_tokens SET "+change+" WHERE name = 'ann'"))
			stopped("hers", reason)
			require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_tokens SET expires = 0, role = 'admin', projects = '[]' WHERE name = 'ann'"))
			require.True(t, begins("hers"), "a timer that is left begins it again")
		}

		// Earlier versions took lines that never come, or come all the time.
		for _, line := range []string{"0 0 31 2 *", "@every 1s"} {
			require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_schedules SET cron = ? WHERE name = 'his'", line))
			require.False(t, begins("his"), line)
			require.Contains(t, b.schedule(bob, "his").Reason, line)
		}

		// A time that began no run says why, and the next one comes.
		require.NoError(t, b.server.Exec(t.Context(), "DELETE FROM husk_bundles"))
		require.False(t, begins("hers"))
		is := b.schedule(bob, "hers")
		require.True(t, is.Next.After(time.Now()))
		require.Equal(t, "the bundle "+digest("files")+" is not here: send it first", is.Reason)
		require.NoError(t, bob.SendBundle(t.Context(), digest("files"), []byte("files")))
		require.True(t, begins("hers"))
		require.Empty(t, b.schedule(bob, "hers").Reason)
	})
}

// TestSchedulesOfEarlierVersions has schedules that were set before they had a token, and bundles that a run or a schedule
// needs which names them in its text only.
func TestSchedulesOfEarlierVersions(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		o.Dir = t.TempDir()
		statements := []string{}
		for _, content := range []string{"run", "hers", "gone", "unused"} {
			statements = append(statements, "INSERT INTO husk_bundles (tenant, digest, made, content) VALUES ('acme', '"+digest(content)+"', 1, '')")
		}
		for _, content := range []string{"hers", "gone", "other"} {
			statements = append(statements, "INSERT INTO husk_schedules (tenant, name, cron, run, requested_by, requested_person, requested_projects, version, next, last) VALUES "+
				`('acme', '`+content+`', '0 4 * * *', '{"id":"","project":"shop","stack":"dev","operation":"preview","bundle":"`+digest(content)+`","message":"\u0000"}', `+
				map[string]string{"hers": `'ann', 'ann', '[]'`, "gone": `'bob', 'bob', '[]'`, "other": `'ann', 'ann', '["a*"]'`}[content]+`, 'v', 4000000000000, '')`)
		}
		statements = append(statements, "INSERT INTO husk_runs (id, tenant, project, stack, request, selector, state, previewing, requested_by, requested_projects, approved_by, worker, attempt, token,"+
			` lease, not_before, cancel, lines, reason, made, began, ended) VALUES ('R', 'acme', 'shop', 'dev', '{"id":"R","project":"shop","stack":"dev","operation":"up","bundle":"`+digest("run")+
			`","message":"`+digest("unused")+`"}', '', 'queued', 0, 'ann', '[]', '', '', 0, '', 0, 0, 0, 0, '', 1, 0, 0)`,
			"INSERT INTO husk_tokens (hash, tenant, name, role, projects, made, expires, person, issued_by) VALUES ('h', 'acme', 'ann', 'admin', '[]', 1, 0, 'ann', '')")
		require.NoError(t, server.MakeEarlier(t.Context(), o, 5, statements...))
		b := open(t, o)
		eve := b.client("acme", "eve", runapi.Admin)
		require.False(t, b.schedule(eve, "hers").Next.IsZero())
		for _, name := range []string{"gone", "other"} { // who has set the last one had a token of another kind
			require.True(t, b.schedule(eve, name).Next.IsZero(), name)
			require.Contains(t, b.schedule(eve, name).Reason, "was revoked")
		}
		sent := func(content string) bool {
			n, err := b.server.Count(t.Context(), "SELECT count(*) FROM husk_bundles WHERE digest = ?", digest(content))
			require.NoError(t, err)
			return n > 0
		}
		require.Eventually(t, func() bool { return !sent("unused") }, time.Minute, 10*time.Millisecond)
		for _, content := range []string{"run", "hers", "gone"} {
			require.True(t, sent(content), content)
		}
	})
}

// TestContentsOfEarlierVersions has a bundle and a plan of when they were in rows that change.
func TestContentsOfEarlierVersions(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		o.Dir = t.TempDir()
		require.NoError(t, server.MakeEarlier(t.Context(), o, 13,
			"INSERT INTO husk_bundles (tenant, digest, made, content) VALUES ('acme', '"+digest("files")+"', 1, 'files')",
			"INSERT INTO husk_runs (id, tenant, project, stack, request, bundle, selector, state, previewing, requested_by, requested_person, requested_projects, approved_by, plan, worker, attempt, token,"+
				` lease, not_before, cancel, lines, reason, made, began, ended) VALUES ('RRRRRRRRRRRRRRRRRRRRRRRRRR', 'acme', 'shop', 'dev', '{"id":"RRRRRRRRRRRRRRRRRRRRRRRRRR","project":"shop","stack":"dev","operation":"up","approval":true,"bundle":"`+
				digest("files")+`"}', '`+digest("files")+`', '', 'waiting', 1, 'ann', 'ann', '[]', '', 'plan', '', 1, '', 0, 0, 0, 0, '', 1, 1, 0)`))
		b := open(t, o)
		b.client("acme", "ann", runapi.Request)
		bob, worker := b.client("acme", "bob", runapi.Approve), b.client("acme", "w", runapi.Work)
		_, err := bob.Call(t.Context(), http.MethodPost, "/v1/runs/RRRRRRRRRRRRRRRRRRRRRRRRRR/approve", nil, nil)
		require.NoError(t, err)
		claim := b.next(worker, "w", nil)
		require.Equal(t, []byte("plan"), claim.Plan)
		content, err := b.of(claim).Send(t.Context(), 0, http.MethodGet, "/v1/work/bundle", "", nil)
		require.NoError(t, err)
		require.Equal(t, "files", string(content))
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
		n, err := b.server.Count(t.Context(), "SELECT count(*) FROM husk_plans")
		require.NoError(t, err)
		require.Zero(t, n, "nobody needs one of a run that has ended")
	})
}

// A server goes on serving while a newer one only adds to the tables. Once one has removed what this server needs, it sends clients and
// balancers to others, and does not start again.
func TestServersOfTheVersionBefore(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		quiet(t)
		o.Dir = t.TempDir()
		b := open(t, o)
		ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
		b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
		add := "ALTER TABLE husk_runs ADD COLUMN more TEXT NOT NULL DEFAULT '';\nCREATE TABLE husk_more (of TEXT NOT NULL)"
		require.NoError(t, server.Upgrade(t.Context(), o, add))
		claim := b.next(worker, "w", nil)
		require.NotNil(t, claim)
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
		b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
		require.Equal(t, http.StatusOK, b.get("/readyz"))
		_, err := server.Open(t.Context(), o)
		require.ErrorIs(t, err, server.ErrNewerSchema)
		require.ErrorContains(t, err, "Start a server of the newer version, or restore the backup from before the upgrade")

		if o.Database != "" { // a newer server may also have changed the tables of a team's stacks
			late := b.client("late", "ann", runapi.Request)
			for _, statement := range []string{"CREATE SCHEMA husk_late", "CREATE TABLE husk_late.meta (version integer)", "INSERT INTO husk_late.meta VALUES (99)"} {
				require.NoError(t, b.server.Exec(t.Context(), statement))
			}
			status, answer := b.state(late.Token(), "list", fields{})
			require.Equal(t, http.StatusServiceUnavailable, status, answer)
			require.Contains(t, answer, "this server is to be replaced")
		}

		next, err := b.server.Count(t.Context(), "SELECT version + 1 FROM husk_schema")
		require.NoError(t, err)
		require.NoError(t, server.Upgrade(t.Context(), o, add, fmt.Sprintf("ALTER TABLE husk_runs DROP COLUMN said;\nALTER TABLE husk_tokens DROP COLUMN used;\nUPDATE husk_schema SET least = %d", next)))
		var refused *runapi.StatusError
		for _, path := range []string{"/v1/work/next", "/v1/runs"} {
			_, err = worker.CallFor(t.Context(), 0, http.MethodPost, path, runapi.Ask{Worker: "w", Slots: 1}, nil)
			require.ErrorAs(t, err, &refused, path)
			require.Equal(t, http.StatusServiceUnavailable, refused.Status, path)
			require.Positive(t, refused.After, path)
			require.ErrorContains(t, err, "this server, which is older, does not serve it any more", path)
		}
		status, answer := b.state(ann.Token(), "list", fields{})
		require.Equal(t, http.StatusServiceUnavailable, status, answer)
		require.Equal(t, []int{http.StatusOK, http.StatusServiceUnavailable}, []int{b.get("/livez"), b.get("/readyz")})
	})
}

// Tables with a version that no server has written are refused.
func TestAVersionBelowZero(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		quiet(t)
		o.Dir = t.TempDir()
		b := open(t, o)
		require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_schema SET version = -1"))
		_, err := server.Open(t.Context(), o)
		require.ErrorContains(t, err, "the table husk_schema has the version -1, which no husk server writes: restore a backup")
	})
}

// A command that opens the database, to issue a token or to export, has no timers and no loops: it would remove what the server is to keep
// longer, and take runs from workers that the server waits for.
func TestPassiveServers(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		o.Dir, o.Passive = t.TempDir(), true
		passive := open(t, o)
		require.NotNil(t, passive.client("acme", "ann", runapi.Admin))
		passive.server.WaitForLoops()
		started := func() int {
			n, err := passive.server.Count(t.Context(), "SELECT count(*) FROM river_queue")
			require.NoError(t, err)
			return n
		}
		require.Zero(t, started())
		o.Passive = false
		open(t, o)
		require.Equal(t, 1, started(), "by the server itself")
	})
}

// apart calls test twice: with a server whose clock is an hour behind its database's, and with one an hour ahead. ahead is the database's lead.
func apart(t *testing.T, test func(t *testing.T, o server.Options, ahead time.Duration)) {
	p := postgrestest.Start(t)
	for name, ahead := range map[string]time.Duration{"behind": time.Hour, "ahead": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			p.Execute(t, "postgres", "CREATE DATABASE "+name)
			p.Execute(t, name, "CREATE SCHEMA clock")
			for _, function := range []string{"now", "clock_timestamp"} {
				p.Execute(t, name, fmt.Sprintf("CREATE FUNCTION clock.%s() RETURNS timestamptz LANGUAGE sql AS $$ SELECT pg_catalog.%[1]s() + interval '%d seconds' $$", function, int(ahead.Seconds())))
			}
			test(t, server.Options{Database: p.URL(name, 0) + "&search_path=" + url.QueryEscape("public,clock,pg_catalog")}, ahead)
		})
	}
}

// Timers go by the time of the database: a server takes those of one that is gone after two minutes, and none from one that is there; and what is
// to come again in some seconds does.
func TestClocksOfServersDoNotMatterToTimers(t *testing.T) {
	apart(t, func(t *testing.T, o server.Options, _ time.Duration) {
		o.Dir = t.TempDir()
		gone, err := server.Open(t.Context(), o)
		require.NoError(t, err)
		// The one that is there has begun just now. It is ahead, so that this test may be slow.
		for began, queue := range map[string]string{"- interval '10 minutes'": "gone", "+ interval '30 minutes'": "there"} {
			require.NoError(t, gone.Exec(t.Context(), "INSERT INTO river_job (args, attempt, attempted_at, kind, max_attempts, queue, state, scheduled_at) VALUES ('{}', 1, now() "+began+", 'husk_watch', 25, ?, 'running', now())", queue))
		}
		gone.Stop()
		require.NoError(t, gone.Close())

		file, secret := filepath.Join(o.Dir, "hooks.yaml"), filepath.Join(o.Dir, "secret")
		require.NoError(t, os.WriteFile(secret, []byte("a secret of a hook, long enough"), 0o600))
		require.NoError(t, os.WriteFile(file, []byte("hooks:\n  - {name: shop, host: github, api: 'https://api.github.example', repository: acme/shop, branch: main, secretFile: "+secret+", tokenFile: "+secret+","+
			" team: acme, project: shop, stack: dev, people: []}\n"), 0o600))
		o.Webhooks, err = webhook.Load(file)
		require.NoError(t, err)
		b := open(t, o)
		run := b.asked(b.client("acme", "ann", runapi.Request), runapi.NewRun{Project: "shop", Stack: "dev"})
		_, err = b.server.AddTask(t.Context(), webhook.Task{Hook: "shop", Delivery: "one", Step: webhook.Asked, Run: run.ID})
		require.NoError(t, err)
		eventually := func(condition string) {
			t.Helper()
			require.Eventually(t, func() bool {
				n, err := b.server.Count(t.Context(), "SELECT count(*) FROM river_job WHERE "+condition)
				require.NoError(t, err)
				return n == 1
			}, 2*time.Minute, 20*time.Millisecond, condition)
		}
		eventually("queue = 'gone' AND state <> 'running'")
		eventually("queue = 'there' AND state = 'running'")
		eventually("kind = 'husk_webhook' AND CAST(metadata->>'snoozes' AS integer) >= 1")
		eventually("kind = 'husk_webhook' AND scheduled_at > now() - interval '10 minutes' AND scheduled_at < now() + interval '10 minutes'")
	})
}

// The server's clock differs from its database's.
func TestClocksOfServersDoNotMatter(t *testing.T) {
	apart(t, func(t *testing.T, o server.Options, ahead time.Duration) {
		b := open(t, o)
		isNow := func(at time.Time) {
			t.Helper()
			require.WithinDuration(t, time.Now().Add(ahead), at, 10*time.Minute)
		}
		ann, worker := b.client("acme", "ann", runapi.Admin), b.client("acme", "w", runapi.Work)
		for left, refused := range map[time.Duration]int{10 * time.Minute: 0, -10 * time.Minute: http.StatusUnauthorized} {
			token, err := b.server.IssueToken(t.Context(), runapi.Token{Tenant: "acme", Name: fmt.Sprint(left), Role: runapi.Read, Expires: time.Now().Add(ahead + left)})
			require.NoError(t, err)
			isNow(token.Made)
			_, err = ann.With(token.Secret).CallFor(t.Context(), 0, http.MethodGet, "/v1/runs", nil, nil)
			require.Equal(t, refused, status(err))
		}
		require.NoError(t, ann.SendBundle(t.Context(), digest("files"), []byte("files")))
		set, err := b.setSchedule(ann, "hourly", runapi.Schedule{Cron: "0 * * * *", Run: nightly("dev").Run})
		require.NoError(t, err)
		require.WithinRange(t, set.Next, time.Now().Add(ahead-time.Second), time.Now().Add(ahead+time.Hour+time.Second))
		require.NoError(t, b.server.Due(t.Context(), "acme", "hourly"))
		claim := b.wait(worker)
		isNow(claim.Made)
		isNow(claim.Began)
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
		isNow(b.run(ann, claim.ID).Ended)
		var is runapi.Status
		_, err = ann.Call(t.Context(), http.MethodGet, "/v1/status", nil, &is)
		require.NoError(t, err)
		require.Len(t, is.Workers, 1)
		isNow(is.Workers[0].Seen)
		all, err := b.server.Count(t.Context(), "SELECT count(*) FROM husk_lines WHERE time < "+fmt.Sprint(time.Now().Add(ahead-10*time.Minute).UnixMilli())+" OR time > "+fmt.Sprint(time.Now().Add(ahead+10*time.Minute).UnixMilli()))
		require.NoError(t, err)
		require.Zero(t, all)
	})
}
