package abi

// Measured is implemented by providers that measure more than time: modules, by their host.
type Measured interface {
	// Measured returns the sums of all calls so far, by the method's name in the contract, such as check-config.
	Measured() map[string]Measure
}

// Measure is the resources that the calls of a method have used, apart from time.
type Measure struct {
	// BySchema counts the calls that the host answered by the schema, at no cost.
	BySchema int
	// Fuel is the work of the module's code, in units that are the same on every machine.
	Fuel uint64
	// BytesIn and BytesOut are the sizes of the property values that crossed the boundary.
	BytesIn, BytesOut uint64
}
