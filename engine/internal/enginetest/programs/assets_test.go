package programs_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/contents"
	. "github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/state"
)

const (
	helloHash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // SHA-256 of hello
	otherHash = "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa" // SHA-256 of other
)

func fileAsset(path string) property.Value {
	return property.AssetOf(property.Asset{Source: property.SourcePath, Path: path})
}

// post is a provider whose resources do with their assets what a test says.
type post struct {
	abi.Unimplemented
	check  func(abi.CheckRequest) property.Map
	create func(context.Context, abi.CreateRequest) (property.Map, error)
	diff   func(abi.DiffRequest)
	update func(context.Context, abi.UpdateRequest) (property.Map, error)
	remove func(context.Context, abi.DeleteRequest) error
	// construct makes components with the monitor.
	construct func(context.Context, abi.Monitor, abi.ConstructRequest) error
}

func (p *post) Load(context.Context, engine.PackageSpec) (abi.Provider, error) { return p, nil }

func (p *post) Check(_ context.Context, req abi.CheckRequest) (abi.CheckResponse, error) {
	if p.check != nil {
		return abi.CheckResponse{Inputs: p.check(req)}, nil
	}
	return abi.CheckResponse{Inputs: req.News}, nil
}

func (p *post) Diff(_ context.Context, req abi.DiffRequest) (abi.DiffResponse, error) {
	if p.diff != nil {
		p.diff(req)
	}
	return abi.DiffResponse{Changes: abi.DiffChangesUnknown}, nil
}

func (p *post) Create(ctx context.Context, req abi.CreateRequest) (abi.CreateResponse, error) {
	if p.create == nil {
		return abi.CreateResponse{ID: "made", State: req.Inputs}, nil
	}
	state, err := p.create(ctx, req)
	if err != nil {
		return abi.CreateResponse{}, err
	}
	return abi.CreateResponse{ID: "made", State: state}, nil
}

func (p *post) Update(ctx context.Context, req abi.UpdateRequest) (abi.UpdateResponse, error) {
	state, err := p.update(ctx, req)
	return abi.UpdateResponse{State: state}, err
}

func (p *post) Read(_ context.Context, req abi.ReadRequest) (abi.ReadResponse, error) {
	return abi.ReadResponse{ID: req.ID, State: *req.State, Inputs: req.Inputs}, nil
}

func (p *post) Delete(ctx context.Context, req abi.DeleteRequest) error {
	if p.remove != nil {
		return p.remove(ctx, req)
	}
	return nil
}

func (p *post) Construct(ctx context.Context, req abi.ConstructRequest) (abi.ConstructResponse, error) {
	return abi.ConstructResponse{}, p.construct(ctx, abi.MonitorFrom(ctx), req)
}

// newPost returns a stack that uses the provider, and the directory of its program.
func newPost(t *testing.T, p *post) (s *Stack, dir string) {
	dir = t.TempDir()
	s = NewStack(t, NewCloud())
	s.Edit = func(d *Deployment) { d.Providers, d.Contents = p, contents.Source{Dir: dir} }
	return s, dir
}

func write(t *testing.T, dir, name, data string) {
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
}

func letter(inputs property.Map) Program {
	return func(p *Run) error {
		_, err := p.Custom("post:index:Letter", "letter", inputs)
		return err
	}
}

func hashOf(v property.Value) string {
	a, _ := v.AsAsset()
	return a.Hash
}

func TestAssetsGetTheirHashWhenTheyAreRegistered(t *testing.T) {
	s, dir := newPost(t, &post{})
	write(t, dir, "a", "hello")
	text := property.AssetOf(property.Asset{Source: property.SourceText, Text: "hello"})
	s.Up(letter(Props("one", fileAsset("a"), "secret", property.Secret(text),
		"list", property.Array(property.AssetOf(property.Asset{Source: property.SourcePath, Path: "a", Hash: helloHash})))))
	inputs := s.Resource("letter").Inputs
	require.Equal(t, helloHash, hashOf(inputs.Get("one")))
	require.True(t, inputs.Get("secret").IsSecret())
	require.Equal(t, helloHash, hashOf(inputs.Get("secret").Plain()))
	list, _ := inputs.Get("list").AsArray()
	require.Equal(t, helloHash, hashOf(list[0]))
}

func TestAssetsThatCannotBeUsedAreErrorsOfTheirProperty(t *testing.T) {
	s, dir := newPost(t, &post{})
	write(t, dir, "a", "hello")
	wrong := property.Asset{Source: property.SourcePath, Path: "a", Hash: otherHash}
	archive := property.ArchiveOf(property.Archive{Source: property.SourceAssets,
		Assets: property.NewMap(property.Entry{Key: "in/it", Value: property.AssetOf(wrong)})})
	for name, tc := range map[string]struct {
		inputs property.Map
		want   string
	}{
		"missing":              {Props("files", property.Array(fileAsset("a"), fileAsset("b"))), "files[1]: the asset cannot be used: there is no file " + filepath.Join(dir, "b")},
		"of a wrong hash":      {Props("f", property.AssetOf(wrong)), "f: the asset cannot be used: its hash is given as " + otherHash + ", but its contents have " + helloHash},
		"of one in an archive": {Props("f", archive), `f: the archive cannot be used: "in/it": its hash is given as`},
		"without contents":     {Props("f", property.AssetOf(property.Asset{})), "f: the asset cannot be used: it has neither contents nor a hash"},
		"without a network": {Props("f", property.AssetOf(property.Asset{Source: property.SourceURI, URI: "https://u:p@host/x?key=hunter2"})),
			"f: the asset cannot be used: https://host/x cannot be fetched"},
		"secret": {Props("f", property.Secret(fileAsset("hunter2"))), "f: the asset cannot be used; saying why could tell a secret"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, run := range []func(context.Context, Deployment) (*engine.Result, error){Preview, Up} {
				_, err := s.Try(run, letter(tc.inputs))
				require.ErrorContains(t, err, tc.want)
				require.NotContains(t, err.Error(), "hunter2")
			}
		})
	}
}

func TestOldAssetsAreElidedForProvidersAndRestoredInTheState(t *testing.T) {
	elided := func(m property.Map) {
		a, ok := m.Get("f").AsAsset()
		require.True(t, ok)
		require.Equal(t, property.SourceNone, a.Source)
		require.Equal(t, helloHash, a.Hash)
	}
	provider := &post{
		diff: func(req abi.DiffRequest) { elided(req.Olds); elided(req.OldInputs) },
		update: func(ctx context.Context, req abi.UpdateRequest) (property.Map, error) {
			elided(req.Olds)
			elided(req.OldInputs)
			_, err := abi.AssetsFrom(ctx).OpenAsset(ctx, helloHash, abi.AssetsFormBlob)
			require.ErrorIs(t, err, abi.ErrNotFound)
			return req.News.With("was", req.Olds.Get("f")), nil
		},
		remove: func(ctx context.Context, req abi.DeleteRequest) error {
			require.Nil(t, abi.AssetsFrom(ctx))
			require.Equal(t, property.SourceNone, source(req.State.Get("was")))
			return nil
		},
	}
	s, dir := newPost(t, provider)
	write(t, dir, "a", "hello")
	write(t, dir, "b", "other")
	s.Up(letter(Props("f", fileAsset("a"))))
	s.Refresh()
	require.Equal(t, property.SourcePath, source(s.Resource("letter").Outputs.Get("f")), "what a refresh echoes is restored")
	s.Up(letter(Props("f", fileAsset("b"))))
	outputs := s.Resource("letter").Outputs
	require.Equal(t, otherHash, hashOf(outputs.Get("f")))
	require.Equal(t, property.SourcePath, source(outputs.Get("was")), "what an update echoes is restored")
	s.Destroy()
}

func source(v property.Value) property.AssetSource {
	a, _ := v.AsAsset()
	return a.Source
}

func TestAssetsAreComparedByTheirHash(t *testing.T) {
	updates := 0
	s, dir := newPost(t, &post{update: func(_ context.Context, req abi.UpdateRequest) (property.Map, error) {
		updates++
		return req.News, nil
	}})
	write(t, dir, "a", "hello")
	write(t, dir, "b", "hello")
	s.Up(letter(Props("f", fileAsset("a"))))
	s.Up(letter(Props("f", fileAsset("b"))))
	s.Up(letter(Props("f", property.AssetOf(property.Asset{Source: property.SourceText, Text: "hello"}))))
	require.Zero(t, updates)
	write(t, dir, "b", "other")
	s.Up(letter(Props("f", fileAsset("b"))))
	require.Equal(t, 1, updates)
}

func TestAProviderCannotHaveFilesReadThatTheProgramDoesNotName(t *testing.T) {
	var opened error
	provider := &post{
		check: func(req abi.CheckRequest) property.Map {
			return req.News.With("own", property.AssetOf(property.Asset{Source: property.SourcePath, Path: "passwords", Hash: otherHash}))
		},
		create: func(ctx context.Context, req abi.CreateRequest) (property.Map, error) {
			require.Equal(t, otherHash, hashOf(req.Inputs.Get("own")))
			_, opened = abi.AssetsFrom(ctx).OpenAsset(ctx, otherHash, abi.AssetsFormBlob)
			r, err := abi.AssetsFrom(ctx).OpenAsset(ctx, helloHash, abi.AssetsFormBlob)
			require.NoError(t, err)
			data, err := io.ReadAll(r)
			require.NoError(t, err)
			require.Equal(t, "hello", string(data))
			return req.Inputs, r.Close()
		},
	}
	s, dir := newPost(t, provider)
	write(t, dir, "a", "hello")
	write(t, dir, "passwords", "other")
	s.Up(func(p *Run) error {
		first, err := p.Custom("post:index:Letter", "letter", Props("f", fileAsset("a")))
		if err != nil {
			return err
		}
		require.Equal(t, property.SourcePath, source(first.State.Get("f")))
		require.Equal(t, property.SourceNone, source(first.State.Get("own")), "the program learns of no file that it has not named")
		return nil
	})
	require.ErrorIs(t, opened, abi.ErrNotFound)
}

func TestAComponentPassesOnlyAssetsOnThatTheProgramNames(t *testing.T) {
	provider := &post{
		construct: func(ctx context.Context, m abi.Monitor, req abi.ConstructRequest) error {
			r, err := abi.AssetsFrom(ctx).OpenAsset(ctx, helloHash, abi.AssetsFormBlob)
			require.NoError(t, err)
			require.NoError(t, r.Close())
			child := func(name string, inputs property.Map) error {
				_, err := m.RegisterResource(ctx, abi.RegisterResourceRequest{Type: "post:index:Letter", Name: name, Custom: true, Inputs: inputs})
				return err
			}
			require.NoError(t, child("passed", Props("f", req.Inputs.Get("f"))))
			require.NoError(t, child("empty", Props()))
			return child("own", Props("f", fileAsset("passwords")))
		},
		create: func(ctx context.Context, req abi.CreateRequest) (property.Map, error) {
			if req.Name == "empty" {
				require.Nil(t, abi.AssetsFrom(ctx), "those of the component are not those of its children")
			} else {
				r, err := abi.AssetsFrom(ctx).OpenAsset(ctx, helloHash, abi.AssetsFormBlob)
				require.NoError(t, err)
				require.NoError(t, r.Close())
			}
			return req.Inputs, nil
		},
	}
	s, dir := newPost(t, provider)
	write(t, dir, "a", "hello")
	write(t, dir, "passwords", "other")
	_, err := s.Try(Up, Program(func(p *Run) error {
		_, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{
			Type: "post:index:Box", Name: "box", Remote: true, Inputs: Props("f", fileAsset("a")),
		})
		return err
	}))
	require.ErrorContains(t, err, "f: the asset cannot be used: a component may not name files and URLs that the program has not")
	require.NotNil(t, s.Resource("passed"))
}

func TestContentsThatChangeDuringADeploymentAreAnError(t *testing.T) {
	provider := &post{}
	s, dir := newPost(t, provider)
	inputs := Props("f", fileAsset("a"), "archive", property.ArchiveOf(property.Archive{Source: property.SourcePath, Path: "."}))
	for _, form := range []abi.AssetsForm{abi.AssetsFormBlob, abi.AssetsFormEntries, abi.AssetsFormTar, abi.AssetsFormTarGzip, abi.AssetsFormZip} {
		provider.create = func(ctx context.Context, req abi.CreateRequest) (property.Map, error) {
			hash := helloHash
			if form != abi.AssetsFormBlob {
				a, _ := req.Inputs.Get("archive").AsArchive()
				hash = a.Hash
			}
			read := func() error {
				r, err := abi.AssetsFrom(ctx).OpenAsset(ctx, hash, form)
				if err != nil {
					return err
				}
				defer r.Close()
				_, err = io.ReadAll(r)
				return err
			}
			require.NoError(t, read())
			write(t, dir, "a", "other")
			return req.Inputs, read()
		}
		write(t, dir, "a", "hello")
		_, err := s.Try(Up, letter(inputs))
		require.ErrorContains(t, err, "the contents have changed since the deployment began", form.String())
	}
}

// A path that the program has from a provider is read in the project only, when it is registered and
// when it is opened, whatever was put in its place meanwhile. The program's own paths are not.
func TestForeignAssetsAreReadInTheProject(t *testing.T) {
	var inProject func()
	provider := &post{create: func(ctx context.Context, req abi.CreateRequest) (property.Map, error) {
		inProject()
		for _, form := range []abi.AssetsForm{abi.AssetsFormBlob, abi.AssetsFormEntries} {
			hash := helloHash
			if form != abi.AssetsFormBlob {
				a, _ := req.Inputs.Get("archive").AsArchive()
				hash = a.Hash
			}
			r, err := abi.AssetsFrom(ctx).OpenAsset(ctx, hash, form)
			if err != nil {
				return req.Inputs, err
			}
			data, err := io.ReadAll(r)
			require.NotContains(t, string(data), "secret")
			if err = errors.Join(err, r.Close()); err != nil {
				return req.Inputs, err
			}
		}
		return req.Inputs, nil
	}}
	s, outside := newPost(t, provider)
	dir := filepath.Join(outside, "project")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "in"), 0o700))
	s.Edit = func(d *Deployment) { d.Providers, d.Contents = provider, contents.Source{Dir: dir} }
	write(t, outside, "secret", "secret")
	write(t, dir, "a", "hello")
	write(t, dir, "in/b", "other")
	program := func(path string) Program {
		return func(p *Run) error {
			file, err := callbacks(p).Foreign(p.Ctx, fileAsset(path), "")
			if err != nil {
				return err
			}
			archive, err := callbacks(p).Foreign(p.Ctx, property.ArchiveOf(property.Archive{Source: property.SourcePath, Path: "in"}), "")
			if err != nil {
				return err
			}
			// Beside a foreign file, the program's own may be anywhere.
			both := property.ArchiveOf(property.Archive{Source: property.SourceAssets, Assets: Props("foreign", file, "own", fileAsset("../secret"))})
			_, err = p.Custom("post:index:Letter", "letter", Props("f", file, "archive", archive, "both", both))
			return err
		}
	}

	inProject = func() {}
	s.Up(program("a"))
	require.Equal(t, "a", pathOf(s.Resource("letter").Inputs.Get("f")))
	s.Destroy()

	for path, want := range map[string]string{
		"../secret":                       "was not chosen by the program",
		filepath.Join(outside, "secret"):  "was not chosen by the program",
		"in/../../secret":                 "was not chosen by the program",
		filepath.Join(outside, "nothing"): "was not chosen by the program",
	} {
		_, err := s.Try(Up, program(path))
		require.ErrorContains(t, err, want, path)
	}

	// Since it was registered, a link has taken the place of the file, or of one in the directory.
	for _, name := range []string{"a", "in/b"} {
		inProject = func() {
			require.NoError(t, os.Remove(filepath.Join(dir, name)))
			require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, name)))
		}
		_, err := s.Try(Up, program("a"))
		require.ErrorContains(t, err, "was not chosen by the program", name)
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
		write(t, dir, "a", "hello")
		write(t, dir, "in/b", "other")
	}
}

func pathOf(v property.Value) string {
	a, _ := v.AsAsset()
	return a.Path
}

// Whoever calls a provider without a deployment passes on what it answers. It may not have a file
// read by that.
func TestContentsAreThoseThatTheCallerNames(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", "hello")
	write(t, dir, "passwords", "other")
	stolen := fileAsset("passwords")
	p := engine.WithContents(&post{
		check: func(req abi.CheckRequest) property.Map { return req.News.With("own", stolen) },
		create: func(_ context.Context, req abi.CreateRequest) (property.Map, error) {
			return req.Inputs.With("own", stolen), nil
		},
	}, contents.Source{Dir: dir})
	checked, err := p.Check(t.Context(), abi.CheckRequest{News: Props("f", fileAsset("a"))})
	require.NoError(t, err)
	require.Equal(t, property.SourcePath, source(checked.Inputs.Get("f")))
	require.Equal(t, property.SourceNone, source(checked.Inputs.Get("own")))
	_, err = p.Create(t.Context(), abi.CreateRequest{Inputs: checked.Inputs})
	require.ErrorContains(t, err, "own: the asset cannot be used: it has neither contents nor a hash")
	created, err := p.Create(t.Context(), abi.CreateRequest{Inputs: Props("f", fileAsset("a"))})
	require.NoError(t, err)
	require.Equal(t, property.SourceNone, source(created.State.Get("own")))
}

// Go does not know where a string comes from. But what a program passes as the output of a resource
// comes from that: such assets are read in the project and on the Internet, in all they are part of.
func TestAssetsInOutputsAreForeign(t *testing.T) {
	provider := &post{create: func(_ context.Context, req abi.CreateRequest) (property.Map, error) {
		return req.Inputs.With("out", req.Inputs.Get("named")), nil
	}}
	s, outside := newPost(t, provider)
	dir := filepath.Join(outside, "project")
	require.NoError(t, os.Mkdir(dir, 0o700))
	s.Edit = func(d *Deployment) {
		d.Providers, d.Contents = provider, contents.Source{Dir: dir, Fetch: contents.HTTP(nil)}
	}
	write(t, outside, "secret", "secret")
	write(t, dir, "a", "hello")
	const own = "../secret"
	remote := func(uri string) property.Value {
		return property.AssetOf(property.Asset{Source: property.SourceURI, URI: uri})
	}
	fileArchive := func(path string) property.Value {
		return property.ArchiveOf(property.Archive{Source: property.SourcePath, Path: path})
	}
	archive := func(v property.Value) property.Value {
		return property.ArchiveOf(property.Archive{Source: property.SourceAssets, Assets: Props("x", v)})
	}
	for name, c := range map[string]struct {
		// value is made of what the provider answered.
		value func(chosen string) property.Value
		want  string
	}{
		"a file in the project":   {func(string) property.Value { return fileAsset("a") }, ""},
		"a file":                  {fileAsset, "f: the asset cannot be used: ../secret was not chosen by the program"},
		"a secret file":           {func(p string) property.Value { return property.Secret(fileAsset(p)) }, "f: the asset cannot be used; saying why could tell a secret"},
		"in a list":               {func(p string) property.Value { return property.Array(fileAsset(p)) }, "f[0]: the asset cannot be used: ../secret was not chosen"},
		"in an object":            {func(p string) property.Value { return property.Object(Props("x", fileAsset(p))) }, "f.x: the asset cannot be used: ../secret was not chosen"},
		"in an archive":           {func(p string) property.Value { return archive(fileAsset(p)) }, `f: the archive cannot be used: "x": ../secret was not chosen`},
		"in an archive in one":    {func(p string) property.Value { return archive(archive(fileAsset(p))) }, `"x": "x": ../secret was not chosen`},
		"a directory":             {func(string) property.Value { return fileArchive("..") }, "f: the archive cannot be used: .. was not chosen"},
		"a file URL":              {func(string) property.Value { return remote("file://" + filepath.Join(outside, "secret")) }, "its URL names a file, and the program did not choose it"},
		"the machine itself":      {func(string) property.Value { return remote("http://127.0.0.1:1/x") }, "127.0.0.1 is this machine, and the program did not choose the URL"},
		"the machine, in archive": {func(string) property.Value { return archive(remote("http://[::1]:1/x")) }, "::1 is this machine, and the program did not choose the URL"},
		"of a wrong hash": {func(string) property.Value {
			return property.AssetOf(property.Asset{Source: property.SourcePath, Path: "a", Hash: otherHash})
		}, "f: the asset cannot be used: its hash is given as " + otherHash},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Try(Up, Program(func(p *Run) error {
				first, err := p.Custom("post:index:Letter", "first", Props("named", own))
				if err != nil {
					return err
				}
				chosen, _ := first.State.Get("out").AsString()
				o, _ := first.Out("out").AsOutput()
				o.Value = c.value(chosen)
				_, err = p.Custom("post:index:Letter", "second", Props("f", property.OutputOf(o)))
				return err
			}))
			if c.want == "" {
				require.NoError(t, err)
				require.Equal(t, helloHash, hashOf(s.Resource("second").Inputs.Get("f")))
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}

	// What the program has named itself is its own, also once it comes back from a resource.
	provider.update = func(_ context.Context, req abi.UpdateRequest) (property.Map, error) { return req.News, nil }
	s.Up(func(p *Run) error {
		first, err := p.Custom("post:index:Letter", "first", Props("f", fileAsset(own), "box", archive(fileAsset(own))))
		if err != nil {
			return err
		}
		ofNothing := property.OutputOf(property.Output{Value: fileAsset("../secret"), Secret: true})
		_, err = p.Custom("post:index:Letter", "second", Props("f", first.Out("f"), "box", first.Out("box"), "own", ofNothing, "plain", fileAsset(own)))
		return err
	})
	require.NotEmpty(t, hashOf(s.Resource("second").Inputs.Get("plain")))
	require.Equal(t, own, pathOf(s.Resource("second").Inputs.Get("f")))
}

// A state that came from elsewhere names no file that is read: neither through what a program
// passes on of it, nor where the program's inputs give way to the recorded ones, nor in a refresh
// or deletion.
func TestAStateNamesNoFileThatIsRead(t *testing.T) {
	var opened []error
	open := func(ctx context.Context) {
		err := error(abi.NewError(abi.ErrorKindNotFound, "there is nothing to open"))
		if assets := abi.AssetsFrom(ctx); assets != nil {
			_, err = assets.OpenAsset(ctx, otherHash, abi.AssetsFormBlob)
		}
		opened = append(opened, err)
	}
	provider := &post{
		create: func(ctx context.Context, req abi.CreateRequest) (property.Map, error) {
			open(ctx)
			return req.Inputs, nil
		},
		update: func(ctx context.Context, req abi.UpdateRequest) (property.Map, error) {
			open(ctx)
			return req.News, nil
		},
		remove: func(ctx context.Context, _ abi.DeleteRequest) error {
			open(ctx)
			return nil
		},
	}
	s, dir := newPost(t, provider)
	write(t, dir, "a", "hello")
	write(t, dir, "passwords", "other")
	stolen := property.AssetOf(property.Asset{Source: property.SourcePath, Path: "passwords", Hash: otherHash})
	forge := func() {
		s.Change("letter", func(r *state.Resource) {
			r.Inputs = r.Inputs.With("f", stolen)
			r.Outputs = r.Outputs.With("f", stolen).With("out", stolen)
		})
	}
	s.Up(letter(Props("f", fileAsset("a"))))
	forge()
	opened = nil
	s.Up(func(p *Run) error {
		first, err := p.Custom("post:index:Letter", "letter", Props("f", fileAsset("a"), "other", "x"),
			func(o *abi.ResourceOptions) { o.IgnoreChanges = []string{"f"} })
		if err != nil {
			return err
		}
		_, err = p.Custom("post:index:Letter", "second", Props("f", first.Out("f"), "g", first.State.Get("f")))
		return err
	})
	require.Len(t, opened, 2)
	for _, key := range []string{"f", "g"} {
		require.Equal(t, property.SourceNone, source(s.Resource("second").Inputs.Get(key)))
	}

	// The outputs of another stack are a state too.
	base := s.Beside("base")
	base.Up(func(p *Run) error { return p.Outputs(Props("f", "x")) })
	base.Change("proj-base", func(r *state.Resource) { r.Outputs = r.Outputs.With("f", stolen) })
	s.Up(func(p *Run) error {
		ref, err := readReference(p, "base")
		if err != nil {
			return err
		}
		outputs, _ := ref.State.Get("outputs").AsObject()
		if _, err = p.Custom("post:index:Letter", "letter", Props("f", outputs.Get("f"), "other", "y")); err != nil {
			return err
		}
		_, err = p.Custom("post:index:Letter", "third", Props("f", outputs.Get("f")))
		return err
	})
	require.Equal(t, property.SourceNone, source(s.Resource("third").Inputs.Get("f")))

	forge()
	s.Refresh()
	s.Destroy()
	require.Greater(t, len(opened), 3)
	for _, err := range opened {
		require.ErrorIs(t, err, abi.ErrNotFound)
	}
}
