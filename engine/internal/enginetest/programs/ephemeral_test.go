package programs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// vault is a provider with ephemeral tokens, and databases with write-only passwords.
type vault struct {
	mu  sync.Mutex
	log []string
	// renewAfter is the lease of tokens.
	renewAfter time.Duration
	renewed    chan string
	// creating, if set, is called in each creation.
	creating func()
	// mishap has Check fail with an error that contains the password.
	mishap bool
}

func (v *vault) note(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.log = append(v.log, fmt.Sprintf(format, args...))
}

// Calls returns what was called since the last time.
func (v *vault) Calls() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	log := v.log
	v.log = nil
	return log
}

type vaultConfig struct {
	Token  string `husk:"token,secret"`
	Region string `husk:"region,optional"`
}

type user struct {
	Name     string `husk:"name"`
	Password string `husk:"password,optional,writeonly"`
}

type databaseInputs struct {
	Password        string `husk:"password,optional,writeonly"`
	PasswordVersion int    `husk:"passwordVersion,optional"`
	Comment         string `husk:"comment,optional"`
	Users           []user `husk:"users,optional"`
}

type databaseState struct {
	databaseInputs
	Length int `husk:"length"`
}

type database struct{ *vault }

func (d database) Create(_ context.Context, r guest.CreateRequest[databaseInputs]) (guest.CreateResponse[databaseState], error) {
	d.note("create %s: %s", r.Name, passwords(r.Inputs))
	if d.creating != nil {
		d.creating()
	}
	return guest.CreateResponse[databaseState]{ID: r.Name, State: databaseState{r.Inputs, len(r.Inputs.Password)}}, nil
}

func (d database) Check(_ context.Context, r guest.CheckRequest[databaseInputs]) ([]guest.CheckFailure, error) {
	if d.mishap {
		return nil, errors.New("the password " + r.Inputs.Password + " is too weak")
	}
	return nil, nil
}

func (d database) Update(_ context.Context, r guest.UpdateRequest[databaseInputs, databaseState]) (guest.UpdateResponse[databaseState], error) {
	d.note("update %s: %s, before %q", r.Name, passwords(r.Inputs), r.OldInputs.Password+r.State.Password)
	return guest.UpdateResponse[databaseState]{State: databaseState{r.Inputs, len(r.Inputs.Password)}}, nil
}

func (d database) Read(_ context.Context, r guest.ReadRequest[databaseInputs, databaseState]) (guest.ReadResponse[databaseInputs, databaseState], error) {
	in := databaseInputs{Password: "read back", PasswordVersion: 1}
	return guest.ReadResponse[databaseInputs, databaseState]{ID: r.ID, Inputs: in, State: databaseState{in, 1}}, nil
}

type keyInputs struct {
	Size int    `husk:"size"`
	Text string `husk:"text,writeonly"`
}

type key struct{ *vault }

func (k key) Create(_ context.Context, r guest.CreateRequest[keyInputs]) (guest.CreateResponse[keyInputs], error) {
	return guest.CreateResponse[keyInputs]{ID: r.Name, State: r.Inputs}, nil
}

func (k key) Read(_ context.Context, r guest.ReadRequest[keyInputs, keyInputs]) (guest.ReadResponse[keyInputs, keyInputs], error) {
	return guest.ReadResponse[keyInputs, keyInputs]{ID: r.ID, Inputs: keyInputs{Size: 8}, State: keyInputs{Size: 8}}, nil
}

func passwords(in databaseInputs) string {
	text := in.Password
	for _, u := range in.Users {
		text += " " + u.Name + "=" + u.Password
	}
	return text
}

type tokenArgs struct {
	Role string `husk:"role"`
}

type tokenResult struct {
	Text string `husk:"text"`
}

type token struct{ *vault }

func (t token) Open(_ context.Context, args tokenArgs) (guest.Opened[tokenResult], error) {
	t.note("open %s", args.Role)
	return guest.Opened[tokenResult]{Value: tokenResult{"token of " + args.Role}, Lease: guest.Lease{Private: []byte(args.Role), RenewAfter: t.renewAfter}}, nil
}

func (t token) Renew(_ context.Context, private []byte) (guest.Lease, error) {
	t.renewed <- string(private)
	return guest.Lease{Private: append(private, '+'), RenewAfter: t.renewAfter}, nil
}

func (t token) Close(_ context.Context, private []byte) error {
	t.note("close %s", private)
	if string(private) == "lost" {
		return errors.New("it is lost")
	}
	return nil
}

// Load serves the packages vault and store, which are alike. They become other packages, and are extended by them.
func (v *vault) Load(_ context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	p := v.provider(spec.Name)
	become := func(_ context.Context, params guest.Parameters) (guest.Parameterized, error) {
		return guest.Parameterized{Provider: v.provider(strings.Join(params.Args, "") + params.Name)}, nil
	}
	p.Parameterize = become
	p.Extend = func(ctx context.Context, params guest.Parameters) (guest.Parameterized, error) {
		extension, err := become(ctx, params)
		extension.Provider.Config = guest.Config{} // that of the provider
		return extension, err
	}
	return guest.New(p)
}

func (v *vault) provider(name string) guest.Provider {
	return guest.Provider{
		Name: name, Version: "1.0.0",
		Config: guest.ConfigOf(func(_ context.Context, c vaultConfig) error {
			v.note("configure %s: %s", name, c.Token)
			return nil
		}),
		Resources:  []guest.Resource{guest.ResourceOf(name+":index:Database", database{v}), guest.ResourceOf(name+":index:Key", key{v})},
		Ephemerals: []guest.Ephemeral{guest.EphemeralOf(name+":index:token", token{v})},
		Functions: []guest.Function{guest.FunctionOf(name+":index:greet", func(_ context.Context, args tokenArgs) (tokenResult, error) {
			return tokenResult{"hello " + args.Role}, nil
		})},
	}
}

func newVault(t *testing.T) (*vault, *enginetest.Stack) {
	v := &vault{renewed: make(chan string)}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Config = []abi.ConfigEntry{{Key: "vault:token", Value: "root", Secret: true}}
	s.Edit = func(d *enginetest.Deployment) { d.Providers = v }
	return v, s
}

// open opens a token and returns its text.
func open(p *enginetest.Run, role any) (property.Value, error) {
	resp, err := p.Monitor.(callback.Monitor).OpenEphemeral(p.Ctx, abi.MonitorInvokeRequest{Token: "vault:index:token", Args: enginetest.Props("role", role)})
	if err == nil && len(resp.Failures) > 0 {
		err = errors.New(resp.Failures[0].Reason)
	}
	if resp.Unknown {
		return property.Unknown, err
	}
	return resp.Result.Get("text"), err
}

func declare(p *enginetest.Run, typ, name string, inputs property.Map, options abi.ResourceOptions) (abi.RegisterResourceResponse, error) {
	return p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{Type: typ, Name: name, Custom: true, Inputs: inputs, Options: options})
}

// No provider returns a write-only input, so an import does without, and says what is left to the program.
func TestImportOfARequiredWriteOnlyInput(t *testing.T) {
	v, s := newVault(t)
	s.Edit = func(d *enginetest.Deployment) {
		d.Providers, d.Imports = v, []engine.ImportTarget{{Type: "vault:index:Key", Name: "k", ID: "k-1"}}
	}
	_, err := s.Try(enginetest.Import, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"the program has to set text: no provider returns write-only inputs"}, s.Warnings())
	require.True(t, enginetest.Props("size", 8).Equal(s.Resource("k").Inputs))
}

// A write-only input gets an ephemeral value, which neither the state nor the plan nor an event has.
func TestEphemeralValuesAreNotRecorded(t *testing.T) {
	v, s := newVault(t)
	v.creating = func() {
		for _, op := range s.Snapshot().Operations() {
			require.False(t, op.Resource.Inputs.Has("password"), "the operation that has begun")
		}
	}
	version := 1
	program := enginetest.Program(func(p *enginetest.Run) error {
		secret, err := open(p, "admin")
		if err != nil {
			return err
		}
		users := property.Array(property.Object(enginetest.Props("name", "ann", "password", secret)), property.Object(enginetest.Props("name", "bob")))
		resp, err := declare(p, "vault:index:Database", "db", enginetest.Props("password", secret, "passwordVersion", version, "users", users), abi.ResourceOptions{})
		if err == nil {
			require.NotContains(t, property.Render(property.Object(resp.State)), "token of")
		}
		return err
	})
	s.Edit = func(d *enginetest.Deployment) { d.Providers, d.DraftPlan = v, true }
	preview, err := s.Try(enginetest.Preview, program)
	require.NoError(t, err)
	_, text := s.Reread(preview.Plan)
	require.NotContains(t, text, "password\"")
	require.Equal(t, []string{"configure vault: root", "open admin", "close admin"}, v.Calls())

	require.Equal(t, 2, s.Up(program).Create)
	require.Equal(t, []string{"configure vault: root", "open admin", "create db: token of admin ann=token of admin bob=", "close admin"}, v.Calls())
	recorded := s.Resource("db")
	require.Equal(t, []string{"passwordVersion", "users"}, recorded.Inputs.Keys())
	require.NotContains(t, property.Render(property.Object(recorded.Inputs)), "token of")
	require.NotContains(t, property.Render(property.Object(recorded.Outputs)), "token of")
	require.Equal(t, property.Number(14), recorded.Outputs.Get("length"))
	require.Empty(t, recorded.Dependencies)
	for _, e := range s.Events() {
		require.NotContains(t, fmt.Sprintf("%+v", e), "token of")
	}

	// Another value alone is no change; the version says that there is a new one.
	require.Equal(t, 0, s.Up(program).Update)
	v.Calls()
	version = 2
	require.Equal(t, 1, s.Up(program).Update)
	require.Contains(t, v.Calls(), `update db: token of admin ann=token of admin bob=, before ""`)

	// A refresh records nothing that the provider reads back.
	s.Refresh()
	require.False(t, s.Resource("db").Inputs.Has("password"))
	require.NotContains(t, property.Render(property.Object(s.Resource("db").Outputs)), "read back")
	s.Destroy()
}

// A plain value of a write-only input is not recorded either.
func TestWriteOnlyInputs(t *testing.T) {
	v, s := newVault(t)
	program := enginetest.Program(func(p *enginetest.Run) error {
		_, err := declare(p, "vault:index:Database", "db", enginetest.Props("password", "hunter2", "comment", "c"), abi.ResourceOptions{})
		return err
	})
	s.Up(program)
	require.Contains(t, v.Calls(), "create db: hunter2")
	require.Equal(t, []string{"comment"}, s.Resource("db").Inputs.Keys())
	require.Equal(t, 0, s.Up(program).Update)
}

// A write-only input of a package is not recorded, if a provider became the package or was extended by it.
func TestWriteOnlyInputsOfParameterizedPackages(t *testing.T) {
	_, s := newVault(t)
	s.Config = append(s.Config, abi.ConfigEntry{Key: "cats:token", Value: "root", Secret: true})
	cats := &abi.Parameters{Case: abi.ParametersCaseArgs, Args: []string{"cats"}}
	for name, request := range map[string]abi.RegisterPackageRequest{
		"became": {Name: "vault", Parameters: cats}, "extended": {Name: "vault", Extension: cats},
	} {
		s.Up(func(p *enginetest.Run) error {
			pkg, err := p.Monitor.RegisterPackage(p.Ctx, request)
			if err == nil {
				_, err = declare(p, "cats:index:Database", name, enginetest.Props("password", "hunter2", "comment", "c"), abi.ResourceOptions{PackageRef: pkg.PackageRef})
			}
			return err
		})
		require.Equal(t, []string{"comment"}, s.Resource(name).Inputs.Keys(), name)
		require.NotContains(t, property.Render(property.Object(s.Resource(name).Outputs)), "hunter2", name)
	}
}

// A plain value of a write-only input is a secret in all that its provider writes.
func TestWriteOnlyInputsAreMasked(t *testing.T) {
	v, s := newVault(t)
	v.mishap = true
	secrets := &redact.Secrets{}
	s.Edit = func(d *enginetest.Deployment) { d.Providers, d.Secrets = v, secrets }
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		_, err := declare(p, "vault:index:Database", "db", enginetest.Props("password", "hunter2"), abi.ResourceOptions{})
		return err
	}))
	require.ErrorContains(t, err, "too weak")
	require.Contains(t, secrets.In(err.Error()), "the password [secret] is too weak")
	for _, e := range s.Events() {
		require.NotContains(t, fmt.Sprintf("%+v", e), "hunter2")
	}
}

// mute is a provider whose schema cannot be read.
type mute struct {
	abi.Provider
	err error
}

func (m mute) GetSchema(context.Context, abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	return abi.GetSchemaResponse{}, m.err
}

// wrapped loads the vault's providers, and changes them.
type wrapped struct {
	*vault
	change func(abi.Provider) abi.Provider
}

func (w wrapped) Load(ctx context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	p, err := w.vault.Load(ctx, spec)
	return w.change(p), err
}

// A provider that has write-only inputs is not used without the schema that says which they are: they would be
// recorded. What it made is deleted nevertheless. A provider without a schema has none.
func TestWriteOnlyInputsNeedTheSchema(t *testing.T) {
	v, s := newVault(t)
	var failure error
	s.Edit = func(d *enginetest.Deployment) {
		d.Providers = wrapped{v, func(p abi.Provider) abi.Provider {
			if failure != nil {
				return mute{p, failure}
			}
			return p
		}}
	}
	program := enginetest.Program(func(p *enginetest.Run) error {
		_, err := declare(p, "vault:index:Database", "db", enginetest.Props("password", "hunter2"), abi.ResourceOptions{})
		return err
	})
	s.Up(program)
	failure = abi.NewError(abi.ErrorKindInternal, "no schema today")
	_, err := s.Try(enginetest.Up, program)
	require.ErrorContains(t, err, "the schema of vault, which says what must not be recorded: no schema today")
	require.False(t, s.Resource("db").Inputs.Has("password"))
	s.Destroy()
	failure = abi.ErrUnimplemented
	s.Up(program)
	require.True(t, s.Resource("db").Inputs.Has("password"))
}

// The configuration of a provider may be ephemeral. A run without the program does not know it.
func TestEphemeralConfiguration(t *testing.T) {
	v, s := newVault(t)
	program := enginetest.Program(func(p *enginetest.Run) error {
		secret, err := open(p, "admin")
		if err != nil {
			return err
		}
		provider, err := declare(p, "pulumi:providers:store", "store", enginetest.Props("token", secret, "region", "eu"), abi.ResourceOptions{})
		if err != nil {
			return err
		}
		_, err = declare(p, "store:index:Database", "db", enginetest.Props("comment", "c"),
			abi.ResourceOptions{Provider: enginetest.Resource{RegisterResourceResponse: provider}.Reference()})
		return err
	})
	s.Preview(program)
	require.Contains(t, v.Calls(), "configure store: token of admin")
	s.Up(program)
	require.Contains(t, v.Calls(), "configure store: token of admin")
	require.Equal(t, []string{"region"}, s.Resource("store").Inputs.Keys())
	require.NotContains(t, property.Render(property.Object(s.Resource("store").Outputs)), "token of")
	require.Equal(t, engine.Changes{Same: 3}, s.Up(program))

	_, err := s.Try(enginetest.Destroy, nil)
	require.ErrorContains(t, err, "if the program opens a value for it, which the state does not have, run the program with --run-program")
	s.Edit = func(d *enginetest.Deployment) { d.Providers, d.RunProgram = v, true }
	_, err = s.Try(enginetest.Destroy, program)
	require.NoError(t, err)
	require.Nil(t, s.Resource("db"))
	require.Nil(t, s.Resource("store"))
}

// A provider that is not configured yet opens nothing in a preview.
func TestEphemeralValuesOfUnconfiguredProviders(t *testing.T) {
	v, s := newVault(t)
	s.Preview(func(p *enginetest.Run) error {
		own, err := p.Custom("pulumi:providers:vault", "own", enginetest.Props("token", property.Unknown))
		if err != nil {
			return err
		}
		resp, err := callbacks(p).OpenEphemeral(p.Ctx, abi.MonitorInvokeRequest{
			Token: "vault:index:token", Args: enginetest.Props("role", "admin"), Options: abi.FunctionOptions{Provider: own.Reference()},
		})
		require.True(t, resp.Unknown)
		return err
	})
	require.Empty(t, v.Calls())
}

// What would be recorded cannot be ephemeral, however it was computed.
func TestEphemeralValuesAreRefused(t *testing.T) {
	for name, use := range map[string]func(p *enginetest.Run, secret property.Value) error{
		"the value is ephemeral": func(p *enginetest.Run, secret property.Value) error {
			_, err := declare(p, "vault:index:Database", "db", enginetest.Props("comment", secret), abi.ResourceOptions{})
			return err
		},
		"users[0].name": func(p *enginetest.Run, secret property.Value) error {
			users := property.Array(property.Object(enginetest.Props("name", secret)))
			_, err := declare(p, "vault:index:Database", "db", enginetest.Props("users", users), abi.ResourceOptions{})
			return err
		},
		"the option replacementTrigger is ephemeral": func(p *enginetest.Run, secret property.Value) error {
			_, err := declare(p, "vault:index:Database", "db", enginetest.Props("comment", "c"), abi.ResourceOptions{ReplacementTrigger: &secret})
			return err
		},
		"the output secret is ephemeral": func(p *enginetest.Run, secret property.Value) error {
			return p.Monitor.RegisterOutputs(p.Ctx, abi.RegisterOutputsRequest{URN: p.Root, Outputs: enginetest.Props("secret", secret)})
		},
		"the property comment is ephemeral": func(p *enginetest.Run, secret property.Value) error {
			_, err := p.Monitor.ReadResource(p.Ctx, abi.ReadResourceRequest{ID: "db", Type: "vault:index:Database", Name: "db", Properties: enginetest.Props("comment", secret)})
			return err
		},
		"the input a is ephemeral": func(p *enginetest.Run, secret property.Value) error {
			_, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{Type: "vault:index:Site", Name: "site", Remote: true, Inputs: enginetest.Props("a", secret)})
			return err
		},
		"the value is ephemeral and": func(p *enginetest.Run, secret property.Value) error {
			_, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{Type: "my:own:Component", Name: "c", Inputs: enginetest.Props("a", secret)})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			v, s := newVault(t)
			_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
				secret, err := open(p, "admin")
				if err != nil {
					return err
				}
				return use(p, secret)
			}))
			require.ErrorContains(t, err, name)
			require.NotContains(t, err.Error(), "token of")
			require.Contains(t, v.Calls(), "close admin")
		})
	}
}

// Ephemeral values may be arguments of others. They are renewed while the deployment runs, and closed in the
// reverse order, whatever happens.
func TestEphemeralValuesAreRenewedAndClosed(t *testing.T) {
	v, s := newVault(t)
	v.renewAfter = time.Nanosecond
	v.creating = func() {
		renewed := map[string]bool{}
		for !renewed["a+"] || !renewed["token of a+"] {
			renewed[<-v.renewed] = true
		}
		go func() { // lets renewals that wait go on
			for range v.renewed {
			}
		}()
	}
	program := enginetest.Program(func(p *enginetest.Run) error {
		first, err := open(p, "a")
		if err != nil {
			return err
		}
		second, err := open(p, first)
		if err != nil {
			return err
		}
		_, err = declare(p, "vault:index:Database", "db", enginetest.Props("password", second), abi.ResourceOptions{})
		return err
	})
	s.Edit = func(d *enginetest.Deployment) { d.Providers = v }
	s.Up(program)
	calls := v.Calls()
	require.Equal(t, []string{"configure vault: root", "open a", "open token of a", "create db: token of token of a"}, calls[:4])
	require.Regexp(t, `^close token of a\++$`, calls[4])
	require.Regexp(t, `^close a\++$`, calls[5])

	// One that cannot be closed is a warning, and one that was not opened is not closed.
	v.renewAfter, v.creating = 0, nil
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		if _, err := open(p, "lost"); err != nil {
			return err
		}
		_, err := open(p, 7)
		return err
	}))
	require.ErrorContains(t, err, "string")
	require.Equal(t, []string{"configure vault: root", "open lost", "close lost"}, v.Calls())
	require.Contains(t, s.Warnings(), "the ephemeral value of vault:index:token could not be closed: it is lost")
}

// vague is a provider whose ephemeral values are not known.
type vague struct{ abi.Provider }

func (v vague) OpenEphemeral(ctx context.Context, req abi.OpenEphemeralRequest) (abi.OpenEphemeralResponse, error) {
	opened, err := v.Provider.OpenEphemeral(ctx, req)
	opened.Result = property.NewMap(property.Entry{Key: "text", Value: property.Unknown})
	return opened, err
}

// A value that is not known in an update is refused, and closed as others are.
func TestUnknownEphemeralValuesAreClosed(t *testing.T) {
	v, s := newVault(t)
	s.Edit = func(d *enginetest.Deployment) {
		d.Providers = wrapped{v, func(p abi.Provider) abi.Provider { return vague{p} }}
	}
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		_, err := open(p, "admin")
		return err
	}))
	require.ErrorContains(t, err, "function vault:index:token: the provider returned unknown values")
	require.Contains(t, v.Calls(), "close admin")
}
