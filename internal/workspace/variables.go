package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/internal/base/jsonerror"
)

// sealedVariables are the variables of one run, as the server that queues it has them.
type sealedVariables struct {
	// Key is the key of the text, encrypted with the server's.
	Key string `json:"key"`
	// Text is a JSON object with the variables, encrypted.
	Text string `json:"text"`
}

// SealVariables returns variables for a run at the server of the stacks, which [Workspace.OpenVariables] opens there. Whoever may have
// secrets of the team decrypted can open them.
func (w *Workspace) SealVariables(ctx context.Context, variables map[string]string) ([]byte, error) {
	for _, value := range variables {
		w.secrets.Learn(value)
	}
	text, err := json.Marshal(variables)
	if err != nil {
		return nil, err
	}
	key, err := w.keys.NewCloud(ctx, ServerKey)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, errors.New("the server keeps no key, so it cannot keep the variables of a run: start it with one, or give the variables to the worker with its flag --env")
	}
	if err != nil {
		return nil, err
	}
	var state keyState
	if err := json.Unmarshal(key.State(), &state); err != nil {
		return nil, err
	}
	sealed := sealedVariables{Key: state.EncryptedKey}
	if sealed.Text, err = key.Encrypt(ctx, string(text)); err != nil {
		return nil, err
	}
	return json.Marshal(sealed)
}

// OpenVariables returns the variables that [Workspace.SealVariables] has sealed.
func (w *Workspace) OpenVariables(ctx context.Context, content []byte) (variables map[string]string, err error) {
	var sealed sealedVariables
	if err := json.Unmarshal(content, &sealed); err != nil {
		return nil, fmt.Errorf("the variables of the run: %w", jsonerror.Explain(content, err))
	}
	// Whoever asked for the run chooses no other key service.
	state, err := json.Marshal(keyState{URL: ServerKey, EncryptedKey: sealed.Key})
	if err != nil {
		return nil, err
	}
	key, err := w.keys.Open(ctx, secrets.TypeCloud, state)
	if err != nil {
		return nil, fmt.Errorf("the variables of the run: %w", err)
	}
	text, err := key.Decrypt(ctx, sealed.Text)
	if errors.Is(err, secrets.ErrWithheld) {
		return nil, errors.New("the run has variables, which are secrets, and whoever asked for it may not have secrets decrypted: ask for it without variables")
	}
	if err != nil {
		return nil, fmt.Errorf("the variables of the run: %w", err)
	}
	if err := json.Unmarshal([]byte(text), &variables); err != nil {
		return nil, errors.New("the variables of the run are none")
	}
	for _, value := range variables {
		w.secrets.Learn(value)
	}
	return variables, nil
}
