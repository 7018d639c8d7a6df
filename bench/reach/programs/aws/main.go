// Command aws is a provider that stands in for Pulumi's package aws in public programs: it has websites in buckets, databases in clusters
// and instances of RDS, and a default VPC. Of all other resources it keeps what it is told, with names, ARNs, and addresses of nothing. A
// server at the address in WEBSITES has the objects and the databases.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/bench/reach/programs/standin"
	"github.com/husk-dev/husk/guest-sdk/assets"
	"github.com/husk-dev/husk/guest-sdk/guest"
	_ "github.com/husk-dev/husk/guest-sdk/http" // by which the host sends requests
)

func main() { guest.ServeProvider(provider{standin.Provider{Name: "aws", Version: "4.0.0"}}) }

type provider struct{ standin.Provider }

func (provider) Create(ctx context.Context, r abi.CreateRequest) (abi.CreateResponse, error) {
	id := strings.ToLower(r.URN.Stack() + "-" + r.Name)
	if r.Type == "aws:s3/bucketObject:BucketObject" && standin.Text(r.Inputs, "key") == "" {
		r.Inputs = r.Inputs.With("key", property.String(r.Name))
	}
	state, err := made(ctx, r.Type, id, r.Inputs)
	return abi.CreateResponse{ID: id, State: state}, err
}

func (provider) Update(ctx context.Context, r abi.UpdateRequest) (abi.UpdateResponse, error) {
	state, err := made(ctx, r.Type, r.ID, r.News)
	return abi.UpdateResponse{State: state}, err
}

func (provider) Delete(ctx context.Context, r abi.DeleteRequest) error {
	switch r.Type {
	case "aws:s3/bucketObject:BucketObject":
		return sendObject(ctx, http.MethodDelete, r.State)
	case "aws:rds/cluster:Cluster":
		return sendDatabase(ctx, http.MethodDelete, r.State)
	case "aws:rds/instance:Instance":
		return sendInstance(ctx, http.MethodDelete, r.State)
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
	case "aws:ec2/getSubnetIds:getSubnetIds", "aws:ec2/getSubnets:getSubnets":
		return abi.InvokeResponse{Result: r.Args.With("id", property.String("vpc-1")).With("ids", texts("subnet-1", "subnet-2"))}, nil
	case "aws:ec2/getAmi:getAmi":
		return abi.InvokeResponse{Result: r.Args.With("id", property.String("ami-1"))}, nil
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
	case "aws:s3/bucket:Bucket", "aws:s3/bucketV2:BucketV2":
		return inputs.With("bucket", property.String(id)).With("arn", property.String("arn:aws:s3:::"+id)).With("websiteEndpoint", website(id)), nil
	case "aws:s3/bucketWebsiteConfiguration:BucketWebsiteConfiguration", "aws:s3/bucketWebsiteConfigurationV2:BucketWebsiteConfigurationV2":
		return inputs.With("websiteEndpoint", website(standin.Text(inputs, "bucket"))), nil
	case "aws:s3/bucketObject:BucketObject":
		return inputs, sendObject(ctx, http.MethodPut, inputs)
	case "aws:s3/bucketPolicy:BucketPolicy":
		if policy, is := inputs.Get("policy").AsObject(); is { // which AWS has as a text
			return inputs.With("policy", property.String(policy.String())), nil
		}
		return inputs, nil
	case "aws:rds/cluster:Cluster":
		return inputs.With("clusterIdentifier", property.String(id)).With("endpoint", property.String("127.0.0.1")), sendDatabase(ctx, http.MethodPut, inputs)
	case "aws:rds/instance:Instance":
		return inputs.With("address", property.String("localhost")), sendInstance(ctx, http.MethodPut, inputs)
	}
	state := inputs.With("arn", property.String("arn:aws:::"+id))
	if standin.Text(inputs, "name") == "" {
		state = state.With("name", property.String(id))
	}
	switch typ[strings.LastIndex(typ, ":")+1:] {
	case "LoadBalancer":
		state = state.With("dnsName", property.String(id+".elb.example"))
	case "Instance":
		state = state.With("publicIp", property.String("127.0.0.1"))
	case "Repository":
		state = state.With("repositoryUrl", property.String("ecr.example/"+id)).With("registryId", property.String("1"))
	}
	return state, nil
}

// website returns the address of a bucket's website.
func website(bucket string) property.Value {
	return property.String(strings.TrimPrefix(os.Getenv("WEBSITES"), "http://") + "/" + bucket)
}

// sendObject puts the object of a bucket on the server, or deletes it there.
func sendObject(ctx context.Context, method string, object property.Map) error {
	var content io.ReadCloser = io.NopCloser(strings.NewReader(standin.Text(object, "content")))
	if source, is := object.Get("source").AsAsset(); is && method == http.MethodPut {
		var err error
		if content, err = assets.Open(ctx, source); err != nil {
			return err
		}
	}
	err := send(ctx, method, standin.Text(object, "bucket")+"/"+standin.Text(object, "key"), content)
	return errors.Join(err, content.Close())
}

// sendDatabase has the server create the database of a cluster, or drop it.
func sendDatabase(ctx context.Context, method string, cluster property.Map) error {
	return sendUser(ctx, method, "databases/"+standin.Text(cluster, "databaseName"), standin.Text(cluster, "masterUsername"), standin.Text(cluster, "masterPassword"))
}

// sendInstance has the server create the user of an instance, or drop it.
func sendInstance(ctx context.Context, method string, instance property.Map) error {
	return sendUser(ctx, method, "instances/", standin.Text(instance, "username"), standin.Text(instance, "password"))
}

func sendUser(ctx context.Context, method, path, user, password string) error {
	body, err := json.Marshal(map[string]string{"user": user, "password": password})
	if err != nil {
		return err
	}
	return send(ctx, method, path, bytes.NewReader(body))
}

func send(ctx context.Context, method, path string, body io.Reader) error {
	request, err := http.NewRequestWithContext(ctx, method, os.Getenv("WEBSITES")+"/"+path, body)
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
