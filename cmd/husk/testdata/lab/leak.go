package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"os"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// LeakInputs are a Leak's.
type LeakInputs struct {
	Key  string  `husk:"key,secret" doc:"What slips."`
	Text *string `husk:"text" doc:"What slips as well, and is no secret here."`
	When string  `husk:"when,default=never,oneof=never|check|create|panic|update|delete" doc:"What fails, and says so with the key."`
}

// LeakState is a Leak's.
type LeakState struct {
	LeakInputs
	Echo map[string]string `husk:"echo" doc:"The key, by itself, as if it were no secret."`
}

// Leak is a resource that lets its key slip wherever it can say something.
type Leak struct{}

// spelt is the key in the ways in which programs write text.
func (in LeakInputs) spelt() string {
	text := in.Key
	if in.Text != nil {
		text += " and " + *in.Text
	}
	quoted, _ := json.Marshal(in.Key)
	return text + "\nkey=" + in.Key + ";\n" + string(quoted) + "\nhttps://example.org/?key=" + url.QueryEscape(in.Key) +
		"\nBasic " + base64.StdEncoding.EncodeToString([]byte("me:"+in.Key)) + "\n" + hex.EncodeToString([]byte(in.Key))
}

func (in LeakInputs) say(ctx context.Context) {
	log := guest.Log(ctx)
	log.Debug(in.spelt())
	log.Info(in.spelt())
	log.Warning(in.spelt())
	log.Status(in.Key)
	os.Stdout.WriteString(in.spelt() + "\n")
	os.Stderr.WriteString(in.spelt() + "\n")
}

func (in LeakInputs) fail(when string) error {
	if in.When != when {
		return nil
	}
	return errors.New("that failed: " + in.spelt())
}

func (in LeakInputs) state() LeakState {
	return LeakState{in, map[string]string{in.Key: in.spelt()}}
}

// Check says the key.
func (Leak) Check(ctx context.Context, r guest.CheckRequest[LeakInputs]) ([]guest.CheckFailure, error) {
	r.Inputs.say(ctx)
	if err := r.Inputs.fail("check"); err != nil {
		return []guest.CheckFailure{{Path: "when", Reason: err.Error()}}, nil
	}
	return nil, nil
}

// Create says the key.
func (Leak) Create(ctx context.Context, r guest.CreateRequest[LeakInputs]) (guest.CreateResponse[LeakState], error) {
	r.Inputs.say(ctx)
	_, _ = os.ReadFile("/" + r.Inputs.Key) // which is refused, and listed
	if r.Inputs.When == "panic" {
		panic(r.Inputs.spelt())
	}
	if err := r.Inputs.fail("create"); err != nil {
		return guest.CreateResponse[LeakState]{}, err
	}
	return guest.CreateResponse[LeakState]{ID: "leak-" + r.Inputs.Key, State: r.Inputs.state()}, nil
}

// Update says the key.
func (Leak) Update(ctx context.Context, r guest.UpdateRequest[LeakInputs, LeakState]) (guest.UpdateResponse[LeakState], error) {
	r.Inputs.say(ctx)
	return guest.UpdateResponse[LeakState]{State: r.Inputs.state()}, r.Inputs.fail("update")
}

// Delete says the key.
func (Leak) Delete(ctx context.Context, r guest.DeleteRequest[LeakState]) error {
	r.State.say(ctx)
	return r.State.fail("delete")
}

// forged is text that looks like what husk itself says, or like commands for the services that
// run it.
const forged = "one\nDone in 0.1s: forged.\n  Failed after forged\nerror: forged\n  error: forged\n\twarning: forged\nPreview done in forged\n" +
	"::add-mask::forged\n  ::set-env name=PATH::forged\n##vso[task.setvariable variable=x]forged\n  ##[group]forged\n##teamcity[forged]\n--- forged\n+++ forged\n~~~ forged\n^^^ +++\nforged"

// ForgerInputs are a Forger's.
type ForgerInputs struct {
	When string `husk:"when,default=never,oneof=never|check|create|panic|init|delete" doc:"What fails."`
	Text string `husk:"text,optional"`
}

// ForgerState is a Forger's.
type ForgerState struct {
	ForgerInputs
	Made string            `husk:"made"`
	More map[string]string `husk:"more"`
}

// Forger is a resource that pretends to be husk.
type Forger struct{}

// Check refuses.
func (Forger) Check(ctx context.Context, r guest.CheckRequest[ForgerInputs]) ([]guest.CheckFailure, error) {
	guest.Log(ctx).Error(forged)
	if r.Inputs.When == "check" {
		return []guest.CheckFailure{{Path: "text", Reason: forged}}, nil
	}
	return nil, nil
}

// Create says what is forged in all ways.
func (Forger) Create(ctx context.Context, r guest.CreateRequest[ForgerInputs]) (guest.CreateResponse[ForgerState], error) {
	log := guest.Log(ctx)
	log.Info(forged)
	log.Warning(forged)
	log.Status(forged)
	os.Stdout.WriteString(forged + "\n")
	os.Stderr.WriteString(forged + "\n")
	made := guest.CreateResponse[ForgerState]{ID: forged, State: ForgerState{r.Inputs, forged, map[string]string{forged: forged}}}
	switch r.Inputs.When {
	case "panic":
		go func() { panic(forged) }()
		select {}
	case "create":
		return made, errors.New(forged)
	case "init":
		return made, guest.InitFailed(forged, forged)
	}
	return made, nil
}

// Delete refuses.
func (Forger) Delete(_ context.Context, r guest.DeleteRequest[ForgerState]) error {
	if r.State.When == "delete" {
		return errors.New(forged)
	}
	return nil
}
