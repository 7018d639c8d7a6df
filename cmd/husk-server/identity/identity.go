// Package identity tells who people and workloads are by their tokens of OpenID Connect, and what they may do.
package identity

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"go.yaml.in/yaml/v3"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/hostname"
	"github.com/husk-dev/husk/internal/base/printable"
	"github.com/husk-dev/husk/internal/base/wildcard"
)

// Config says whose identity tokens a server exchanges for tokens of its own.
type Config struct {
	Issuers []*Issuer `yaml:"issuers"`
}

// Issuer is an issuer whose identity tokens count.
type Issuer struct {
	// URL is the URL of the issuer, as its tokens have it.
	URL string `yaml:"issuer"`
	// Audience is whom a token must be for. If people log in, it is the ID of the server as a client of the issuer.
	Audience string `yaml:"audience"`
	// People says that people log in there. Only they approve runs and administer teams.
	People bool `yaml:"people"`
	// SecretFile has the secret of the client, if it has one, and Scopes are what a login asks for.
	SecretFile string   `yaml:"secretFile"`
	Scopes     []string `yaml:"scopes"`
	// Person is the claim that tells people apart, and Name the claim with their name. Both are optional.
	Person string `yaml:"person"`
	Name   string `yaml:"name"`
	// Lifetime is how long a token of the server is valid, zero for the default.
	Lifetime time.Duration `yaml:"lifetime"`
	// Renew is how often the server asks the issuer whether a login still counts, zero for never.
	Renew time.Duration `yaml:"renew"`
	// Rules are tried in their order: the first one of a team that matches counts.
	Rules []Rule `yaml:"rules"`

	secret string
	http   *http.Client
	// logins has something for each login that is under way at the issuer.
	logins chan struct{}
	// asking has something while the issuer is asked for its endpoints, and found is nil until it has answered.
	asking chan struct{}
	found  *oidc.Provider
}

// Rule gives a role in a team to identities with some claims.
type Rule struct {
	// Claims are patterns, in which * stands for any text without / : @ and ** for any text, by the names of claims. A list has a claim if one of its values has it. A name with slashes is a path.
	Claims   map[string]string `yaml:"claims"`
	Team     string            `yaml:"team"`
	Role     runapi.Role       `yaml:"role"`
	Projects []string          `yaml:"projects"`
}

// RefusedError says why somebody gets no token, and Later that this may be otherwise later.
type RefusedError struct {
	// Status is the status of an answer by HTTP.
	Status int
	Later  bool
	Reason string
}

func (e *RefusedError) Error() string { return e.Reason }

func refusef(status int, format string, args ...any) error {
	return &RefusedError{Status: status, Reason: fmt.Sprintf(format, args...)}
}

const (
	// peopleTime and workloadTime are how long a token is valid if its issuer says nothing, and longestLogin bounds both.
	peopleTime, workloadTime, longestLogin = 12 * time.Hour, time.Hour, 30 * 24 * time.Hour
	// leastRenew is the shortest time after which an issuer is asked again about a login.
	leastRenew = time.Minute
	// askTime bounds what an issuer is asked for one request of a client, and maxAnswer each answer, in bytes.
	askTime, maxAnswer = 10 * time.Second, 1 << 20
	// maxLogins bounds the logins that are under way at an issuer: anybody may begin one, and one that hangs keeps no other issuer's from
	// going on.
	maxLogins = 16
	// maxIdentityToken bounds a token, in bytes: groups make some long.
	maxIdentityToken = 48 << 10
)

// Load reads a file in YAML.
func Load(file string) (*Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c := &Config{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(c.Issuers) == 0 {
		return nil, fmt.Errorf("%s: it names no issuers", file)
	}
	for i, issuer := range c.Issuers {
		if issuer == nil {
			return nil, fmt.Errorf("%s: issuers[%d] is empty", file, i)
		}
		if slices.ContainsFunc(c.Issuers[:i], func(other *Issuer) bool { return other.URL == issuer.URL }) {
			return nil, fmt.Errorf("%s: issuers[%d]: it has %s twice", file, i, issuer.URL)
		}
		if err := issuer.check(); err != nil {
			return nil, fmt.Errorf("%s: issuers[%d]: %w", file, i, err)
		}
		for _, other := range c.Issuers[:i] {
			if err := onePerson(issuer, other); err != nil {
				return nil, fmt.Errorf("%s: issuers[%d]: %w", file, i, err)
			}
		}
	}
	return c, nil
}

// onePerson returns an error if somebody who logs in at two issuers could be two people in a team where people approve.
func onePerson(a, b *Issuer) error {
	if !a.People || !b.People || a.Person == b.Person && a.Person != subject {
		return nil
	}
	for team, approves := range a.teams() {
		other, is := b.teams()[team]
		if is && (approves || other) {
			return fmt.Errorf("people of the team %s log in at %s, too: who has a subject at both could approve their own runs. Name the same claim as person at both, one that people cannot change, such as an employee number", team, b.URL)
		}
	}
	return nil
}

// teams returns the teams of an issuer's rules, and whether one of these gives a role that approves.
func (i *Issuer) teams() map[string]bool {
	all := make(map[string]bool)
	for _, rule := range i.Rules {
		all[rule.Team] = all[rule.Team] || approves(rule.Role)
	}
	return all
}

func approves(role runapi.Role) bool { return role == runapi.Approve || role == runapi.Admin }

// subject is the claim that tells people apart at one issuer.
const subject = "sub"

// ownClaims are the claims of OpenID Connect that people may change: it says that they tell nobody apart.
var ownClaims = []string{
	"name", "given_name", "family_name", "middle_name", "nickname", "preferred_username", "profile", "picture", "website", "email", "email_verified", "gender",
	"birthdate", "zoneinfo", "locale", "phone_number", "phone_number_verified", "address", "updated_at",
}

// check returns an error unless what the file says of an issuer can be meant, and reads its secret.
func (i *Issuer) check() error {
	u, err := url.Parse(i.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("issuer %q: it has the form https://host/path", i.URL)
	case u.Scheme == "http" && !hostname.IsThisMachine(u.Hostname()):
		return fmt.Errorf("issuer %s: anybody on the way could change its keys: use https", i.URL)
	case i.Audience == "":
		return errors.New("audience is missing: a token for somebody else must not count here")
	case i.SecretFile != "" && !i.People:
		return errors.New("secretFile is for an issuer where people log in: add people: true")
	case i.Lifetime < 0 || i.Lifetime > longestLogin:
		return fmt.Errorf("lifetime %v: it is at most %v", i.Lifetime, longestLogin)
	case i.Renew != 0 && (!i.People || i.Renew < leastRenew || i.Renew > cmp.Or(i.Lifetime, peopleTime)/2):
		return fmt.Errorf("renew %v: it is for an issuer where people log in, at least %v, and at most half of the lifetime of a token, %v", i.Renew, leastRenew, cmp.Or(i.Lifetime, peopleTime))
	case len(i.Rules) == 0:
		return errors.New("rules are missing: without one, nobody gets a token")
	}
	if i.Lifetime == 0 {
		i.Lifetime = workloadTime
		if i.People {
			i.Lifetime = peopleTime
		}
	}
	if i.Person == "" {
		i.Person = subject
	}
	if first, _, _ := strings.Cut(i.Person, "/"); i.People && slices.Contains(ownClaims, first) {
		return fmt.Errorf("person %s: people can change this claim, and could then approve their own runs: name %s, or another claim that they cannot change", i.Person, subject)
	}
	if i.Name == "" {
		i.Name = i.Person
	}
	for n, rule := range i.Rules {
		if err := rule.check(i.People); err != nil {
			return fmt.Errorf("rules[%d]: %w", n, err)
		}
	}
	if i.SecretFile != "" {
		text, err := os.ReadFile(i.SecretFile)
		if err != nil {
			return fmt.Errorf("secretFile: %w", err)
		}
		i.secret = strings.TrimSpace(string(text))
	}
	i.http = &http.Client{Timeout: askTime, Transport: boundedAnswers{}}
	i.logins, i.asking = make(chan struct{}, maxLogins), make(chan struct{}, 1)
	return nil
}

// boundedAnswers is a transport whose answers have at most [maxAnswer] bytes.
type boundedAnswers struct{}

func (boundedAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}

// begin takes one of the [maxLogins] places at the issuer for at most [askTime], until the caller calls done. It returns the endpoints and
// keys of the issuer.
func (i *Issuer) begin(ctx context.Context) (_ context.Context, found *oidc.Provider, done func(), err error) {
	select {
	case i.logins <- struct{}{}:
	default:
		return nil, nil, nil, &RefusedError{Status: http.StatusTooManyRequests, Later: true, Reason: fmt.Sprintf("%d others log in at %s now", maxLogins, i.URL)}
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	done = func() {
		cancel()
		<-i.logins
	}
	if found, err = i.reach(ctx); err != nil {
		done()
		return nil, nil, nil, err
	}
	return ctx, found, done, nil
}

// away is the refusal of a login while the issuer does not answer. Anybody may ask for one, so only the log of the server says why.
func (i *Issuer) away(err error) error {
	slog.Warn("an issuer of identity tokens cannot be asked", "issuer", i.URL, "error", err)
	return &RefusedError{Status: http.StatusServiceUnavailable, Later: true, Reason: fmt.Sprintf("the issuer %s cannot be asked now: the server's log says why", i.URL)}
}

func (r *Rule) check(people bool) error {
	if err := CheckGrant(r.Role, r.Projects); err != nil {
		return err
	}
	switch {
	case len(r.Claims) == 0:
		return errors.New("claims are missing: anybody with a token of the issuer would match")
	case !runapi.IsTeam(r.Team):
		return fmt.Errorf("team %q: a name has lower-case letters, digits, and \"_\", and at most 40 of them", r.Team)
	case !people && approves(r.Role):
		return fmt.Errorf("role %s: only people have it, and no workload: the issuer has no people: true", r.Role)
	case people && r.Role == runapi.Work:
		return fmt.Errorf("role %s: it is for workers, and people log in at this issuer", r.Role)
	}
	return nil
}

// maxPatterns bounds the patterns of the projects of a token, and maxPattern each, in bytes: they are read with each request.
const maxPatterns, maxPattern = 100, 200

// CheckGrant returns an error unless a token can have a role in some projects. Rules and people give no others.
func CheckGrant(role runapi.Role, projects []string) error {
	switch {
	case role != runapi.Work && !slices.Contains(runapi.Roles, role):
		return fmt.Errorf("role %.60q: it is one of %v, or %s", role, runapi.Roles, runapi.Work)
	case len(projects) > maxPatterns:
		return fmt.Errorf("%d patterns of projects: a token is for at most %d", len(projects), maxPatterns)
	}
	for _, pattern := range projects {
		if len(pattern) > maxPattern {
			return fmt.Errorf("the project %.60q… has more than %d bytes", pattern, maxPattern)
		}
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return fmt.Errorf("the project %q is not a valid pattern", pattern)
		}
	}
	return nil
}

// reach returns the endpoints and keys of an issuer. It asks the issuer until it has answered once.
func (i *Issuer) reach(ctx context.Context) (*oidc.Provider, error) {
	select {
	case i.asking <- struct{}{}:
		defer func() { <-i.asking }()
	case <-ctx.Done():
		return nil, i.away(ctx.Err())
	}
	if i.found != nil {
		return i.found, nil
	}
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, i.http), i.URL)
	if err != nil {
		return nil, i.away(err)
	}
	i.found = found
	return found, nil
}

// issuerOf returns the issuer that a token says it is of, which nothing shows yet.
func (c *Config) issuerOf(token string) (*Issuer, error) {
	var said struct {
		Issuer string `json:"iss"`
	}
	parts := strings.Split(token, ".")
	if len(token) > maxIdentityToken || len(parts) != 3 {
		return nil, refusef(http.StatusBadRequest, "this is not an identity token: it has three parts, and at most %d KiB", maxIdentityToken>>10)
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(payload, &said)
	}
	if err != nil {
		return nil, refusef(http.StatusBadRequest, "this is not an identity token: its second part is not JSON in base64")
	}
	return c.Issuer(said.Issuer)
}

// Issuer returns the issuer with a URL.
func (c *Config) Issuer(url string) (*Issuer, error) {
	n := slices.IndexFunc(c.Issuers, func(one *Issuer) bool { return one.URL == url })
	if n < 0 {
		return nil, refusef(http.StatusForbidden, "the server takes no tokens of the issuer %.200q", url)
	}
	return c.Issuers[n], nil
}

// People returns the issuer where people log in: the one with a URL, unless there is only one.
func (c *Config) People(url string) (*Issuer, error) {
	var all []*Issuer
	var urls []string
	for _, issuer := range c.Issuers {
		if issuer.People && (url == "" || issuer.URL == url) {
			all, urls = append(all, issuer), append(urls, issuer.URL)
		}
	}
	switch {
	case len(all) == 0 && url != "":
		return nil, refusef(http.StatusNotFound, "people do not log in to this server at %.200q", url)
	case len(all) == 0:
		return nil, refusef(http.StatusNotFound, "people do not log in to this server: who runs it names an issuer with people: true, in the file of --identity")
	case len(all) > 1:
		return nil, refusef(http.StatusConflict, "people log in at several issuers: say which with --issuer, %s", strings.Join(urls, " or "))
	}
	return all[0], nil
}

// Identity is who has shown an identity token, and the rule that gives them a token of the server.
type Identity struct {
	Issuer *Issuer
	// Person tells people apart, and Name names them.
	Person, Name string
	Rule         *Rule
}

// Verify returns the identity that a token shows, and the rule that gives them a token of the server: of a team, unless there is only one.
func (c *Config) Verify(ctx context.Context, token, team string, now func() time.Time) (*Identity, error) {
	issuer, err := c.issuerOf(token)
	if err != nil {
		return nil, err
	}
	ctx, found, done, err := issuer.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	verified, err := found.Verifier(&oidc.Config{ClientID: issuer.Audience, Now: now}).Verify(ctx, token)
	var claims map[string]any
	if err == nil {
		err = verified.Claims(&claims)
	}
	switch {
	case err != nil && strings.Contains(err.Error(), "fetching keys"): // the library has no type for it
		return nil, issuer.away(err)
	case err != nil:
		return nil, refusef(http.StatusForbidden, "the token of %s does not count: %v", issuer.URL, err)
	}
	who := &Identity{Issuer: issuer, Person: textOf(claims, issuer.Person), Name: textOf(claims, issuer.Name)}
	if !IsPerson(who.Person) {
		return nil, refusef(http.StatusForbidden, "the token of %s has no claim %q of at most %d bytes that tells who it is of", issuer.URL, issuer.Person, MaxPerson)
	}
	if who.Name == "" {
		who.Name = who.Person
	}
	var teams []string
	for n := range issuer.Rules {
		rule := &issuer.Rules[n]
		if team != "" && rule.Team != team || slices.Contains(teams, rule.Team) || !rule.matches(claims) {
			continue
		}
		who.Rule, teams = rule, append(teams, rule.Team)
	}
	switch {
	case len(teams) > 1:
		return nil, refusef(http.StatusConflict, "%s is in several teams: say which with --team, %s", who.Person, strings.Join(teams, " or "))
	case len(teams) == 0:
		return nil, refusef(http.StatusForbidden, "no rule of the server gives %.200q of %s a token%s: who runs the server writes them, in the file of --identity", who.Person, issuer.URL, ofTeam(team))
	}
	return who, nil
}

func ofTeam(team string) string {
	if team == "" {
		return ""
	}
	return fmt.Sprintf(" of the team %.60q", team)
}

// matches reports whether claims match a rule. An unverified mail address matches nothing.
func (r *Rule) matches(claims map[string]any) bool {
	for name, pattern := range r.Claims {
		if !slices.ContainsFunc(valuesOf(claims, name), func(value string) bool { return wildcard.Match(pattern, value, claimStops) }) {
			return false
		}
	}
	return true
}

// claimStops end the part of a claim that * stands for: a branch or an environment may have any name, which must not pass for what
// follows it.
const claimStops = "/:@"

// valuesOf returns the values of a claim as texts. A name with slashes that is none is a path.
func valuesOf(claims map[string]any, name string) (values []string) {
	value, is := claims[name]
	if first, rest, deep := strings.Cut(name, "/"); !is && deep {
		below, _ := claims[first].(map[string]any)
		return valuesOf(below, rest)
	}
	if name == "email" && !slices.Contains(valuesOf(claims, "email_verified"), "true") {
		return nil // anybody can say that it is theirs
	}
	all, isList := value.([]any)
	if !isList {
		all = []any{value}
	}
	for _, one := range all {
		switch one := one.(type) {
		case string:
			values = append(values, one)
		case bool, float64:
			values = append(values, fmt.Sprint(one))
		}
	}
	return values
}

// textOf returns the value of a claim, empty if there is none or more than one.
func textOf(claims map[string]any, name string) string {
	if values := valuesOf(claims, name); len(values) == 1 {
		return values[0]
	}
	return ""
}

// MaxPerson bounds the name of a person, in bytes: subjects of issuers have at most as many.
const MaxPerson = 255

// IsPerson reports whether a text can tell a person from others.
func IsPerson(name string) bool {
	return PersonKey(name) != "" && len(name) <= MaxPerson && !strings.ContainsFunc(name, printable.IsUnsafe)
}

// SamePerson reports whether two names are of one person.
func SamePerson(one, other string) bool { return PersonKey(one) == PersonKey(other) }

// PersonKey returns what all spellings of a name have in common: another case, form of Unicode, or space, or a character that is not seen, is
// more likely a mistake than another person. This is Unicode's NFKC_Casefold, and one space in place of several.
func PersonKey(name string) string {
	name = norm.NFKC.String(cases.Fold().String(norm.NFKD.String(name)))
	name = norm.NFKC.String(cases.Fold().String(name))
	name = strings.Map(func(c rune) rune {
		if unicode.In(c, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		return c
	}, name)
	return strings.Join(strings.Fields(name), " ")
}
