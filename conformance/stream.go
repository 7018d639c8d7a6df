package conformance

import (
	"context"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// maxResults is how much of a stream is read before it is closed: some never end.
const maxResults = 20

// stream reads a stream to its end, or closes it after so many results.
func (t *functionTest) stream(ctx context.Context, args property.Map, preview bool, most int) (results []property.Map, err error) {
	handle, err := ask(ctx, t.run.main, abi.Provider.StreamInvoke, abi.InvokeRequest{Token: t.Token, Args: args, Preview: preview})
	if err != nil {
		return nil, err
	}
	for len(results) < most {
		item, err := ask(ctx, t.run.main, abi.Provider.StreamNext, handle)
		if err != nil {
			return results, fmt.Errorf("result %d: %w", len(results)+1, err)
		}
		if item.Result == nil {
			return results, nil
		}
		results = append(results, *item.Result)
	}
	return results, t.close(ctx, handle)
}

func (t *functionTest) close(ctx context.Context, handle abi.StreamHandle) error {
	_, err := ask(ctx, t.run.main, answerless(abi.Provider.StreamClose), handle)
	return err
}

// streamOutcome holds that streams can be left early, each without the others.
func (t *functionTest) streamOutcome(ctx context.Context, args property.Map) error {
	whole, err := t.stream(ctx, args, false, maxResults)
	if err != nil {
		return mistake(err, "reading a stream")
	}
	if _, err := t.stream(ctx, args, false, 0); err != nil {
		return fmt.Errorf("closing a stream before its first result: %s", reason(err))
	}
	request := abi.InvokeRequest{Token: t.Token, Args: args}
	first, err := ask(ctx, t.run.main, abi.Provider.StreamInvoke, request)
	if err != nil {
		return mistake(err, "beginning a stream again")
	}
	between, err := t.stream(ctx, args, false, maxResults)
	if err != nil {
		return fmt.Errorf("reading a stream while another one is open: %s", reason(err))
	}
	if len(between) != len(whole) {
		return fmt.Errorf("a stream has %d results, and %d while another one is open", len(whole), len(between))
	}
	for range 2 {
		if err := t.close(ctx, first); err != nil {
			return fmt.Errorf("closing a stream, and once more: %s", reason(err))
		}
	}
	return nil
}
