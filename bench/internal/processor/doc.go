// Package processor tells what processes have used of the processor, in user and system
// mode. It is 0 on systems where that is not measured.
package processor
