// Package propertytest holds the common parts of the tests of property values: bags of realistic shape, and generators of values.
package propertytest

import (
	"iter"
	"strconv"

	"github.com/husk-dev/husk/abi/property"
)

// BenchmarkBags iterates over the bags that the codecs are measured with, about
// 1 KB and 100 KB encoded: the inputs of a virtual machine, and of a hundred.
func BenchmarkBags() iter.Seq2[string, property.Map] {
	return func(yield func(string, property.Map) bool) {
		if !yield("1KB", virtualMachine(0)) {
			return
		}
		machines := make([]property.Value, 100)
		for i := range machines {
			machines[i] = property.Object(virtualMachine(i))
		}
		yield("100KB", property.NewMap(property.Entry{Key: "machines", Value: property.Array(machines...)}))
	}
}

// policy is the longest kind of text that bags usually hold: JSON in text.
const policy = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject","s3:ListBucket"],` +
	`"Resource":["arn:aws:s3:::shop-assets","arn:aws:s3:::shop-assets/*"]},{"Effect":"Allow",` +
	`"Action":["sns:Publish","sqs:ReceiveMessage","sqs:DeleteMessage"],"Resource":"*","Condition":` +
	`{"StringEquals":{"aws:RequestedRegion":["eu-central-1","eu-west-1"]}}}]}`

func virtualMachine(i int) property.Map {
	text, number := property.String, property.Number
	object := func(entries ...property.Entry) property.Value { return property.Object(property.NewMap(entries...)) }
	name := "web-" + strconv.Itoa(i)
	subnet := "urn:pulumi:dev::shop::aws:ec2/subnet:Subnet::public-" + strconv.Itoa(i%3)
	return property.NewMap(
		property.Entry{Key: "ami", Value: text("ami-0c55b159cbfafe1f0")},
		property.Entry{Key: "name", Value: text(name)},
		property.Entry{Key: "instanceType", Value: text("t3.medium")},
		property.Entry{Key: "availabilityZone", Value: text("eu-central-1a")},
		property.Entry{Key: "monitoring", Value: property.Bool(true)},
		property.Entry{Key: "ebsOptimized", Value: property.Bool(false)},
		property.Entry{Key: "cpuCoreCount", Value: number(4)},
		property.Entry{Key: "spotPrice", Value: number(0.0416)},
		property.Entry{Key: "keyName", Value: property.Null},
		property.Entry{Key: "subnetId", Value: property.OutputOf(property.Output{Value: property.Unknown, Dependencies: []string{subnet}})},
		property.Entry{Key: "vpcSecurityGroupIds", Value: property.Array(text("sg-0a1b2c3d4e5f60718"), text("sg-18071f6e5d4c3b2a0"))},
		property.Entry{Key: "userData", Value: property.Secret(text("#!/bin/sh\nset -eu\nexport TOKEN=5a0fd1f4\nexec /usr/local/bin/shop --listen :8080 --name " + name))},
		property.Entry{Key: "policy", Value: text(policy)},
		property.Entry{Key: "tags", Value: object(
			property.Entry{Key: "Name", Value: text(name)},
			property.Entry{Key: "Owner", Value: text("shop@example.org")},
			property.Entry{Key: "CostCentre", Value: text("4711")},
			property.Entry{Key: "kubernetes.io/cluster/shop", Value: text("owned")},
		)},
		property.Entry{Key: "rootBlockDevice", Value: object(
			property.Entry{Key: "volumeSize", Value: number(100)},
			property.Entry{Key: "volumeType", Value: text("gp3")},
			property.Entry{Key: "encrypted", Value: property.Bool(true)},
			property.Entry{Key: "iops", Value: number(3000)},
		)},
		property.Entry{Key: "ebsBlockDevices", Value: property.Array(
			object(property.Entry{Key: "deviceName", Value: text("/dev/sdf")}, property.Entry{Key: "volumeSize", Value: number(500)}),
			object(property.Entry{Key: "deviceName", Value: text("/dev/sdg")}, property.Entry{Key: "volumeSize", Value: number(250.5)}),
		)},
	)
}
