// Command aws is a provider that stands in for Pulumi's package aws in public programs: it has websites in buckets, and keeps what it is
// told of all other resources. A web server at the address in WEBSITES has the objects.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/guest"
	_ "github.com/husk-dev/husk/guest-sdk/http" // by which the host sends requests
)

func main() { guest.ServeProvider(provider{}) }

type provider struct{ abi.Unimplemented }

func (provider) Handshake(context.Context, abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	return abi.HandshakeResponse{Name: "aws", Version: "4.0.0", SDK: guest.SDK}, nil
}

func (provider) CheckConfig(_ context.Context, r abi.CheckRequest) (abi.CheckResponse, error) {
	return abi.CheckResponse{Inputs: r.News}, nil
}

func (provider) DiffConfig(context.Context, abi.DiffRequest) (abi.DiffResponse, error) {
	return abi.DiffResponse{}, nil
}

func (provider) Configure(context.Context, abi.ConfigureRequest) error { return nil }

func (provider) Check(_ context.Context, r abi.CheckRequest) (abi.CheckResponse, error) {
	return abi.CheckResponse{Inputs: r.News}, nil
}

func (provider) Diff(context.Context, abi.DiffRequest) (abi.DiffResponse, error) {
	return abi.DiffResponse{}, nil
}

func (provider) Create(ctx context.Context, r abi.CreateRequest) (abi.CreateResponse, error) {
	id := strings.ToLower(r.URN.Stack() + "-" + r.Name)
	state, err := made(ctx, r.Type, id, r.Inputs)
	return abi.CreateResponse{ID: id, State: state}, err
}

func (provider) Update(ctx context.Context, r abi.UpdateRequest) (abi.UpdateResponse, error) {
	state, err := made(ctx, r.Type, r.ID, r.News)
	return abi.UpdateResponse{State: state}, err
}

func (provider) Read(_ context.Context, r abi.ReadRequest) (abi.ReadResponse, error) {
	if r.State == nil {
		return abi.ReadResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, "a resource of the stand-in cannot be imported")
	}
	return abi.ReadResponse{ID: r.ID, State: *r.State, Inputs: r.Inputs}, nil
}

func (provider) Delete(ctx context.Context, r abi.DeleteRequest) error {
	if r.Type == "aws:s3/bucketObject:BucketObject" {
		return send(ctx, http.MethodDelete, r.State)
	}
	return nil
}

func (provider) Invoke(_ context.Context, r abi.InvokeRequest) (abi.InvokeResponse, error) {
	if r.Token != "aws:iam/getPolicyDocument:getPolicyDocument" {
		return abi.InvokeResponse{}, abi.NewError(abi.ErrorKindUnimplemented, "the stand-in does not have the function "+r.Token)
	}
	return abi.InvokeResponse{Result: r.Args.With("json", property.String("{}"))}, nil
}

// made makes a resource, and returns its state: the inputs, and what programs read from buckets.
func made(ctx context.Context, typ, id string, inputs property.Map) (property.Map, error) {
	switch typ {
	case "aws:s3/bucket:Bucket":
		website := strings.TrimPrefix(os.Getenv("WEBSITES"), "http://") + "/" + id
		return inputs.With("bucket", property.String(id)).With("arn", property.String("arn:aws:s3:::"+id)).
			With("websiteEndpoint", property.String(website)), nil
	case "aws:s3/bucketObject:BucketObject":
		return inputs, send(ctx, http.MethodPut, inputs)
	case "aws:s3/bucketPolicy:BucketPolicy":
		if policy, is := inputs.Get("policy").AsObject(); is { // which AWS has as a text
			return inputs.With("policy", property.String(policy.String())), nil
		}
	}
	return inputs, nil
}

// send puts the object of a bucket on the web server, or deletes it there.
func send(ctx context.Context, method string, object property.Map) error {
	text := func(name string) string { s, _ := object.Get(name).AsString(); return s }
	request, err := http.NewRequestWithContext(ctx, method, os.Getenv("WEBSITES")+"/"+text("bucket")+"/"+text("key"), strings.NewReader(text("content")))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the web server answers %s", response.Status)
	}
	return errors.Join(err, response.Body.Close())
}
