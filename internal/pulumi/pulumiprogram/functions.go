package pulumiprogram

import (
	"context"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

func (m *monitor) registerStackTransform(_ context.Context, in, _ pulumiwire.Message) error {
	f, err := functionOf(in)
	if err == nil {
		m.engine.RegisterStackTransform(m.transform(f))
	}
	return err
}

// transform returns a function of the program as a transform of resources.
func (m *monitor) transform(f function) callback.ResourceTransform {
	return func(ctx context.Context, what callback.Identity, d *callback.Declaration) error {
		request, response := newMessage("pulumirpc.TransformRequest"), newMessage("pulumirpc.TransformResponse")
		request.Set("type", what.Type)
		request.Set("name", what.Name)
		request.Set("custom", what.Custom)
		request.Set("parent", string(what.Parent))
		request.SetProperties("properties", d.Inputs)
		pulumiwire.SetOptions(request.Make("options"), d.Options)
		err := m.functions.call(ctx, f, request, response)
		if err == nil && response.Has("properties") {
			d.Inputs, err = response.Properties("properties")
		}
		if err == nil && response.Has("options") {
			if d.Options, err = pulumiwire.Options(response.Message("options"), d.Options); err == nil {
				d.Options.Version = m.version(pulumiwire.PackageOf(what.Type), d.Options.Version)
			}
		}
		return err
	}
}

func (m *monitor) registerStackInvokeTransform(_ context.Context, in, _ pulumiwire.Message) error {
	f, err := functionOf(in)
	if err != nil {
		return err
	}
	m.engine.RegisterStackInvokeTransform(func(ctx context.Context, token string, call *callback.FunctionCall) error {
		request, response := newMessage("pulumirpc.TransformInvokeRequest"), newMessage("pulumirpc.TransformInvokeResponse")
		request.Set("token", token)
		request.SetProperties("args", call.Args)
		options := request.Make("options")
		options.Set("provider", call.Options.Provider)
		options.Set("version", call.Options.Version)
		err := m.functions.call(ctx, f, request, response)
		if err == nil && response.Has("args") {
			call.Args, err = response.Properties("args")
		}
		if err == nil && response.Has("options") {
			changed := response.Message("options")
			call.Options.Provider = changed.Text("provider")
			call.Options.Version = m.version(pulumiwire.PackageOf(token), changed.Text("version"))
		}
		return err
	})
	return nil
}

func (m *monitor) registerHook(_ context.Context, in, _ pulumiwire.Message) error {
	f, err := functionOf(in.Message("callback"))
	if err != nil {
		return err
	}
	return m.engine.RegisterHook(callback.Hook{
		Name: in.Text("name"), OnDryRun: in.Bool("on_dry_run"), IgnoreErrors: in.Bool("ignore_errors"),
		Run: func(ctx context.Context, step callback.Step) error {
			request, response := newMessage("pulumirpc.ResourceHookRequest"), newMessage("pulumirpc.ResourceHookResponse")
			setSubject(request, step.Resource())
			if step.New != nil {
				request.SetProperties("new_inputs", step.New.Inputs)
				if isAfter(step.Kind) {
					request.SetProperties("new_outputs", step.New.Outputs)
				}
			}
			if step.Old != nil {
				request.SetProperties("old_inputs", step.Old.Inputs)
				request.SetProperties("old_outputs", step.Old.Outputs)
			}
			if err := m.functions.call(ctx, f, request, response); err != nil {
				return err
			}
			return errorOf(response)
		},
	})
}

// setSubject tells a hook what resource it is called for.
func setSubject(request pulumiwire.Message, res *state.Resource) {
	request.Set("urn", string(res.URN))
	request.Set("id", res.ID)
	request.Set("name", res.URN.Name())
	request.Set("type", res.Type)
}

func isAfter(kind abi.HookKind) bool {
	return kind == abi.HookKindAfterCreate || kind == abi.HookKindAfterUpdate || kind == abi.HookKindAfterDelete
}

// errorOf returns the error that a hook has ended with.
func errorOf(response pulumiwire.Message) error {
	if text := response.Text("error"); text != "" {
		return errors.New(text)
	}
	return nil
}

func (m *monitor) registerErrorHook(_ context.Context, in, _ pulumiwire.Message) error {
	f, err := functionOf(in.Message("callback"))
	if err != nil {
		return err
	}
	return m.engine.RegisterErrorHook(callback.ErrorHook{
		Name: in.Text("name"),
		Run: func(ctx context.Context, failure callback.Failure) (retry bool, err error) {
			request, response := newMessage("pulumirpc.ErrorHookRequest"), newMessage("pulumirpc.ErrorHookResponse")
			subject := failure.New
			if subject == nil {
				subject = failure.Old
			}
			setSubject(request, subject)
			if failure.New != nil {
				request.SetProperties("new_inputs", failure.New.Inputs)
			}
			if failure.Old != nil {
				request.SetProperties("old_inputs", failure.Old.Inputs)
				request.SetProperties("old_outputs", failure.Old.Outputs)
			}
			request.Set("failed_operation", failure.Operation)
			texts := make([]string, len(failure.Errors))
			for i, e := range failure.Errors {
				texts[i] = e.Error()
			}
			request.SetTexts("errors", texts)
			if err := m.functions.call(ctx, f, request, response); err != nil {
				return false, err
			}
			return response.Bool("retry"), errorOf(response)
		},
	})
}

// transforms returns a resource's own transforms.
func (m *monitor) transforms(in pulumiwire.Message) (transforms []callback.ResourceTransform, err error) {
	for _, c := range in.Messages("transforms") {
		f, err := functionOf(c)
		if err != nil {
			return nil, fmt.Errorf("transforms: %w", err)
		}
		transforms = append(transforms, m.transform(f))
	}
	return transforms, nil
}
