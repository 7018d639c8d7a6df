// Command aws is a provider that stands in for Pulumi's package aws in public programs: it has websites in buckets, databases in clusters
// of RDS, and a default VPC. Of all other resources it keeps what it is told, with names, ARNs, and addresses of nothing. A server at the
// address in WEBSITES has the objects and the databases.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
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
	switch r.Type {
	case "aws:s3/bucketObject:BucketObject":
		return sendObject(ctx, http.MethodDelete, r.State)
	case "aws:rds/cluster:Cluster":
		return sendDatabase(ctx, http.MethodDelete, r.State)
	}
	return nil
}

func (provider) Invoke(_ context.Context, r abi.InvokeRequest) (abi.InvokeResponse, error) {
	texts := func(all ...string) property.Value {
		var list []property.Value
		for _, text := range all {
			list = append(list, property.String(text))
		}
		return property.Array(list...)
	}
	switch r.Token {
	case "aws:iam/getPolicyDocument:getPolicyDocument":
		return abi.InvokeResponse{Result: r.Args.With("json", property.String("{}"))}, nil
	case "aws:ec2/getVpc:getVpc":
		return abi.InvokeResponse{Result: r.Args.With("id", property.String("vpc-1")).With("cidrBlock", property.String("172.31.0.0/16"))}, nil
	case "aws:ec2/getSubnetIds:getSubnetIds":
		return abi.InvokeResponse{Result: r.Args.With("id", property.String("vpc-1")).With("ids", texts("subnet-1", "subnet-2"))}, nil
	case "aws:ecr/getCredentials:getCredentials":
		token := base64.StdEncoding.EncodeToString([]byte("AWS:password"))
		return abi.InvokeResponse{Result: r.Args.With("authorizationToken", property.String(token)).With("proxyEndpoint", property.String("https://ecr.example"))}, nil
	case "aws:index/getAvailabilityZones:getAvailabilityZones":
		return abi.InvokeResponse{Result: r.Args.With("names", texts("us-west-2a", "us-west-2b")).With("zoneIds", texts("usw2-az1", "usw2-az2"))}, nil
	}
	return abi.InvokeResponse{}, abi.NewError(abi.ErrorKindUnimplemented, "the stand-in does not have the function "+r.Token)
}

// made makes a resource, and returns its state: the inputs, and what programs read from buckets.
func made(ctx context.Context, typ, id string, inputs property.Map) (property.Map, error) {
	switch typ {
	case "aws:s3/bucket:Bucket":
		website := strings.TrimPrefix(os.Getenv("WEBSITES"), "http://") + "/" + id
		return inputs.With("bucket", property.String(id)).With("arn", property.String("arn:aws:s3:::"+id)).
			With("websiteEndpoint", property.String(website)), nil
	case "aws:s3/bucketObject:BucketObject":
		return inputs, sendObject(ctx, http.MethodPut, inputs)
	case "aws:s3/bucketPolicy:BucketPolicy":
		if policy, is := inputs.Get("policy").AsObject(); is { // which AWS has as a text
			return inputs.With("policy", property.String(policy.String())), nil
		}
		return inputs, nil
	case "aws:rds/cluster:Cluster":
		return inputs.With("clusterIdentifier", property.String(id)).With("endpoint", property.String("127.0.0.1")), sendDatabase(ctx, http.MethodPut, inputs)
	}
	state := inputs.With("arn", property.String("arn:aws:::"+id))
	if text(inputs, "name") == "" {
		state = state.With("name", property.String(id))
	}
	switch typ[strings.LastIndex(typ, ":")+1:] {
	case "LoadBalancer":
		state = state.With("dnsName", property.String(id+".elb.example"))
	case "Repository":
		state = state.With("repositoryUrl", property.String("ecr.example/"+id)).With("registryId", property.String("1"))
	}
	return state, nil
}

func text(of property.Map, name string) string {
	s, _ := of.Get(name).AsString()
	return s
}

// sendObject puts the object of a bucket on the server, or deletes it there.
func sendObject(ctx context.Context, method string, object property.Map) error {
	return send(ctx, method, text(object, "bucket")+"/"+text(object, "key"), text(object, "content"))
}

// sendDatabase has the server create the database of a cluster, or drop it.
func sendDatabase(ctx context.Context, method string, cluster property.Map) error {
	body, err := json.Marshal(map[string]string{"user": text(cluster, "masterUsername"), "password": text(cluster, "masterPassword")})
	if err != nil {
		return err
	}
	return send(ctx, method, "databases/"+text(cluster, "databaseName"), string(body))
}

func send(ctx context.Context, method, path, body string) error {
	request, err := http.NewRequestWithContext(ctx, method, os.Getenv("WEBSITES")+"/"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the server answers %s", response.Status)
	}
	return errors.Join(err, response.Body.Close())
}
