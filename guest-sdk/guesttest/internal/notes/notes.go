// Package notes is a provider that talks to a service, right or with a mistake, for the tests of package guesttest.
package notes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/husk-dev/husk/guest-sdk/guest"
	_ "github.com/husk-dev/husk/guest-sdk/http"
)

// Note is the type of the resource.
const Note = "notes:index:Note"

// Mistake is a mistake of the provider.
type Mistake string

// The mistakes.
const (
	Right         Mistake = ""
	CreatesAgain  Mistake = "creates again if there is no answer"
	ForgetsID     Mistake = "forgets the ID if the second step fails"
	LosesNotes    Mistake = "takes a failed read for a note that is gone"
	IgnoresDelete Mistake = "ignores that a deletion fails"
	Jams          Mistake = "fails for good after one failure"
	IgnoresUpdate Mistake = "ignores that an update fails"
)

type config struct {
	URL string `husk:"url"`
}

type inputs struct {
	Title string   `husk:"title,replace"`
	Text  string   `husk:"text,default=empty"`
	Tags  []string `husk:"tags,optional"`
}

type item struct {
	ID    string   `json:"id,omitempty"`
	Title string   `json:"title"`
	Text  string   `json:"text"`
	Tags  []string `json:"tags,omitempty"`
	Shown bool     `json:"shown"`
}

type notes struct {
	mistake Mistake
	url     string
	jammed  bool
}

// Provider returns the provider.
func Provider(m Mistake) guest.Provider {
	n := &notes{mistake: m}
	return guest.Provider{
		Name: "notes", Version: "1.0.0",
		Config: guest.ConfigOf(func(_ context.Context, c config) error {
			n.url = c.URL
			return nil
		}),
		Resources: []guest.Resource{guest.ResourceOf(Note, n)},
	}
}

// failed is the status of an answer that is not a success.
type failed int

func (f failed) Error() string { return "the service answers " + strconv.Itoa(int(f)) }

func (n *notes) call(ctx context.Context, method, path string, body *item) (answer item, err error) {
	var text bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&text).Encode(body); err != nil {
			return answer, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, n.url+path, &text)
	if err != nil {
		return answer, err
	}
	if n.jammed {
		return answer, errors.New("jammed")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		n.jammed = n.mistake == Jams
		return answer, err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		return answer, failed(response.StatusCode)
	}
	data, err := io.ReadAll(response.Body)
	if err != nil || len(data) == 0 {
		return answer, err
	}
	return answer, json.Unmarshal(data, &answer)
}

// Create makes a note, and shows it.
func (n *notes) Create(ctx context.Context, r guest.CreateRequest[inputs]) (guest.CreateResponse[inputs], error) {
	note := item{Title: r.Inputs.Title, Text: r.Inputs.Text, Tags: r.Inputs.Tags}
	made, err := n.call(ctx, http.MethodPost, "/notes", &note)
	if err != nil && n.mistake == CreatesAgain {
		made, err = n.call(ctx, http.MethodPost, "/notes", &note)
	}
	if err != nil {
		return guest.CreateResponse[inputs]{}, err
	}
	note.Shown = true
	_, err = n.call(ctx, http.MethodPut, "/notes/"+made.ID, &note)
	if err != nil && n.mistake == ForgetsID {
		return guest.CreateResponse[inputs]{}, err
	}
	if err != nil {
		err = guest.InitFailed("the note is not shown: " + err.Error())
	}
	return guest.CreateResponse[inputs]{ID: made.ID, State: r.Inputs}, err
}

// Read reads a note.
func (n *notes) Read(ctx context.Context, r guest.ReadRequest[inputs, inputs]) (guest.ReadResponse[inputs, inputs], error) {
	note, err := n.call(ctx, http.MethodGet, "/notes/"+r.ID, nil)
	if errors.Is(err, failed(http.StatusNotFound)) || err != nil && n.mistake == LosesNotes {
		return guest.ReadResponse[inputs, inputs]{}, guest.NotFound("there is no such note")
	}
	state := inputs{Title: note.Title, Text: note.Text, Tags: note.Tags}
	return guest.ReadResponse[inputs, inputs]{ID: r.ID, Inputs: state, State: state}, err
}

// Update changes a note.
func (n *notes) Update(ctx context.Context, r guest.UpdateRequest[inputs, inputs]) (guest.UpdateResponse[inputs], error) {
	_, err := n.call(ctx, http.MethodPut, "/notes/"+r.ID, &item{Title: r.Inputs.Title, Text: r.Inputs.Text, Tags: r.Inputs.Tags, Shown: true})
	if n.mistake == IgnoresUpdate {
		err = nil
	}
	return guest.UpdateResponse[inputs]{State: r.Inputs}, err
}

// Delete removes a note.
func (n *notes) Delete(ctx context.Context, r guest.DeleteRequest[inputs]) error {
	_, err := n.call(ctx, http.MethodDelete, "/notes/"+r.ID, nil)
	if errors.Is(err, failed(http.StatusNotFound)) || n.mistake == IgnoresDelete {
		return nil
	}
	return err
}
