//go:build !plugingo_before_0_23

package settings

const Age = "new"
