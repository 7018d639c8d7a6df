module github.com/husk-dev/husk/guest-sdk/terraform

go 1.24
