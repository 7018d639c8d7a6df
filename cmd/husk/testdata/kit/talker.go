package main

import (
	"context"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// talker is the kit that says in its log what it is asked, and which fields that has.
type talker struct{ *kit }

func say(ctx context.Context, method string, request any) {
	log := guest.Log(ctx)
	log.Info("asked " + method + " " + format(request))
	log.Info("fields " + strings.Join(fieldsOf(request), " "))
}

func (t talker) Handshake(ctx context.Context, r abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	say(ctx, "handshake", r)
	return t.kit.Handshake(ctx, r)
}

func (t talker) Parameterize(ctx context.Context, r abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	say(ctx, "parameterize", r)
	return t.kit.Parameterize(ctx, r)
}

func (t talker) CheckConfig(ctx context.Context, r abi.CheckRequest) (abi.CheckResponse, error) {
	say(ctx, "check-config", r)
	return t.kit.CheckConfig(ctx, r)
}

func (t talker) DiffConfig(ctx context.Context, r abi.DiffRequest) (abi.DiffResponse, error) {
	say(ctx, "diff-config", r)
	return t.kit.DiffConfig(ctx, r)
}

func (t talker) Configure(ctx context.Context, r abi.ConfigureRequest) error {
	say(ctx, "configure", r)
	return t.kit.Configure(ctx, r)
}

func (t talker) Check(ctx context.Context, r abi.CheckRequest) (abi.CheckResponse, error) {
	say(ctx, "check", r)
	return t.kit.Check(ctx, r)
}

func (t talker) Diff(ctx context.Context, r abi.DiffRequest) (abi.DiffResponse, error) {
	say(ctx, "diff", r)
	return t.kit.Diff(ctx, r)
}

func (t talker) Create(ctx context.Context, r abi.CreateRequest) (abi.CreateResponse, error) {
	say(ctx, "create", r)
	return t.kit.Create(ctx, r)
}

func (t talker) Read(ctx context.Context, r abi.ReadRequest) (abi.ReadResponse, error) {
	say(ctx, "read", r)
	return t.kit.Read(ctx, r)
}

func (t talker) Update(ctx context.Context, r abi.UpdateRequest) (abi.UpdateResponse, error) {
	say(ctx, "update", r)
	return t.kit.Update(ctx, r)
}

func (t talker) Delete(ctx context.Context, r abi.DeleteRequest) error {
	say(ctx, "delete", r)
	return t.kit.Delete(ctx, r)
}

func (t talker) Invoke(ctx context.Context, r abi.InvokeRequest) (abi.InvokeResponse, error) {
	say(ctx, "invoke", r)
	return t.kit.Invoke(ctx, r)
}

func (t talker) Call(ctx context.Context, r abi.CallRequest) (abi.CallResponse, error) {
	say(ctx, "call", r)
	return t.kit.Call(ctx, r)
}

func (t talker) Construct(ctx context.Context, r abi.ConstructRequest) (abi.ConstructResponse, error) {
	say(ctx, "construct", r)
	return t.kit.Construct(ctx, r)
}
