package goprogram_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/contents"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/program/goprogram"
)

// A program's own paths lead anywhere. Those that it has from a resource stay in the project, where
// it passes them as outputs or says what they are, also in a transform.
func TestPathsOfResourcesStayInTheProject(t *testing.T) {
	outside := t.TempDir()
	dir := filepath.Join(outside, "project")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for _, name := range []string{"project/page", "secret"} {
		require.NoError(t, os.WriteFile(filepath.Join(outside, name), []byte(name), 0o600))
	}
	asset := func(path string) property.Value {
		return property.AssetOf(property.Asset{Source: property.SourcePath, Path: path})
	}
	of := func(bucket *goprogram.Resource) property.Value {
		o, _ := bucket.Output("path").AsOutput()
		path, _ := bucket.State.Get("path").AsString()
		o.Value = asset(path)
		return property.OutputOf(o)
	}
	type upload func(ctx context.Context, s *goprogram.Stack, bucket *goprogram.Resource) (property.Value, error)
	for name, c := range map[string]struct {
		upload  upload
		foreign bool
	}{
		"the program's own": {func(context.Context, *goprogram.Stack, *goprogram.Resource) (property.Value, error) {
			return asset("../secret"), nil
		}, false},
		"an output": {func(_ context.Context, _ *goprogram.Stack, bucket *goprogram.Resource) (property.Value, error) {
			return of(bucket), nil
		}, true},
		"what the program says": {func(ctx context.Context, s *goprogram.Stack, bucket *goprogram.Resource) (property.Value, error) {
			path, _ := bucket.State.Get("path").AsString()
			return s.Foreign(ctx, asset(path), "")
		}, true},
		"in a transform": {func(_ context.Context, s *goprogram.Stack, bucket *goprogram.Resource) (property.Value, error) {
			s.Transform(func(_ context.Context, _ callback.Identity, d *callback.Declaration) error {
				d.Inputs = d.Inputs.With("content", of(bucket))
				return nil
			})
			return property.Null, nil
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"page", "../secret"} {
				program := func(ctx context.Context, s *goprogram.Stack) (outputs property.Map, err error) {
					bucket, err := s.Resource(ctx, goprogram.Declaration{
						Type: "demo:index:Bucket", Name: "bucket", Inputs: enginetest.Props("path", path),
					})
					if err != nil {
						return outputs, err
					}
					content, err := c.upload(ctx, s, bucket)
					if err != nil {
						return outputs, err
					}
					_, err = s.Resource(ctx, goprogram.Declaration{
						Type: "demo:index:Object", Name: "object", Inputs: enginetest.Props("content", content),
					})
					return outputs, err
				}
				stack := enginetest.NewStack(t, enginetest.NewCloud())
				stack.Edit = func(d *enginetest.Deployment) { d.Providers, d.Contents = demo{}, contents.Source{Dir: dir} }
				_, err := stack.Try(enginetest.Up, goprogram.Func(program))
				if c.foreign && path != "page" {
					require.ErrorContains(t, err, "../secret was not chosen by the program")
					continue
				}
				require.NoError(t, err, path)
			}
		})
	}
}
