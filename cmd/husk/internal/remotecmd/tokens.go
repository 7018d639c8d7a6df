package remotecmd

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/backend/runapi"
)

func (a commands) tokens() *cobra.Command {
	ls := &cobra.Command{
		Use: "ls", Short: "List the tokens of the team",
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := Client(cmd.Context(), a.App)
			if err != nil {
				return err
			}
			var all []runapi.Token
			if _, err := client.Call(cmd.Context(), http.MethodGet, "/v1/tokens", nil, &all); err != nil {
				return err
			}
			if a.JSON {
				return a.WriteJSON(all)
			}
			for _, t := range all {
				projects, expires := "all projects", ""
				if len(t.Projects) > 0 {
					projects = strings.Join(t.Projects, ", ")
				}
				if !t.Expires.IsZero() {
					expires = "  until " + t.Expires.Format(time.RFC3339)
				}
				person := ""
				if t.Person != "" && t.Person != t.Name {
					person = "  for " + t.Person
				}
				if t.By != "" {
					person += "  by " + t.By
				}
				used := "never used"
				if !t.Used.IsZero() {
					used = "used " + t.Used.Format(time.RFC3339)
				}
				if err := a.Printf("%-20s  %-7s  %s%s%s  %s\n", t.Name, t.Role, projects, person, expires, used); err != nil {
					return err
				}
			}
			return nil
		},
	}
	rm := &cobra.Command{
		Use: "rm NAME", Short: "Revoke a token",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.call(cmd.Context(), http.MethodDelete, "/v1/tokens/"+url.PathEscape(args[0]), "Revoked the token %s.", args[0])
		},
	}
	var projects []string
	var expires time.Duration
	add := &cobra.Command{
		Use: "add NAME ROLE", Short: "Issue a token, and print it",
		Long: "Issue a token with a role, and print it: read, preview, request (runs that change something), approve (the runs of\n" +
			"others), admin (tokens and schedules), or work (for husk worker).\n\n" +
			"For approvals, the token counts as you: it cannot approve your runs, and you cannot approve its runs.\n" +
			"The server's operator issues tokens for other people, with husk server token.",
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := Client(cmd.Context(), a.App)
			if err != nil {
				return err
			}
			wanted := runapi.Token{Name: args[0], Role: runapi.Role(args[1]), Projects: projects}
			if expires > 0 {
				wanted.Expires = time.Now().Add(expires).UTC()
			}
			var issued runapi.Token
			if _, err := client.Call(cmd.Context(), http.MethodPost, "/v1/tokens", wanted, &issued); err != nil {
				return err
			}
			if a.JSON {
				return a.WriteJSON(issued)
			}
			return a.Printf("%s\n", issued.Secret)
		},
	}
	add.Flags().StringSliceVar(&projects, "project", nil, "only for this project, in which * stands for any text; can be repeated")
	add.Flags().DurationVar(&expires, "expires", 0, "how long it is valid (default: until it is revoked)")
	return cli.Group(&cobra.Command{Use: "token", Short: "Issue and revoke tokens of the team"}, nil, add, ls, rm)
}

// audit lists the audit log. The server answers with a page of it at once.
func (a commands) audit() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "audit", Short: "List who did what with the team's tokens, runs, schedules, and states, or was refused it",
		Long: "List the audit log of the team, the newest entry first: tokens issued and revoked, decisions about runs,\n" +
			"schedules set and removed, states written outside of a run, and refusals.\n\n" +
			"It needs a token with the role admin for all projects.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := Client(cmd.Context(), a.App)
			if err != nil {
				return err
			}
			all, before := []runapi.AuditEntry{}, ""
			for len(all) < limit {
				var page []runapi.AuditEntry
				if _, err := client.Call(cmd.Context(), http.MethodGet, fmt.Sprintf("/v1/audit?limit=%d%s", limit-len(all), before), nil, &page); err != nil {
					return err
				}
				if len(page) == 0 {
					break
				}
				all = append(all, page...)
				before = fmt.Sprintf("&before=%d", page[len(page)-1].Number)
			}
			return cli.WriteList(a.App, all, "There is nothing.", []string{"WHEN", "WHO", "FROM", "ACTION", "SUBJECT", "DETAIL"}, func(e runapi.AuditEntry) []string {
				who := cmp.Or(e.Token, "who runs the server")
				if e.Person != "" && e.Person != e.Token {
					who += " of " + e.Person
				}
				return []string{e.Time.Local().Format(time.DateTime), who, e.From, e.Action, e.Subject, e.Detail}
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "how many")
	return cmd
}
