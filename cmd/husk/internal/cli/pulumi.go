package cli

import (
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/display"
)

// Pulumi has the settings of commands that answer a command line of Pulumi.
type Pulumi struct {
	// Followers are told of each deployment, and Message is its purpose.
	Followers []Follower
	Message   string
	// Document says that standard output is a follower's: people see the deployment on standard error.
	Document bool
	// Project replaces the text of the project file in the directory, unless it is nil.
	Project []byte
	// ExitCode returns the exit code of a command that ends with an error, or nil.
	ExitCode func(error) int
}

// projectName is the name of [Pulumi.Project].
const projectName = "Pulumi.yaml"

// Follower follows a deployment with the states of its resources.
type Follower interface {
	display.Display
	// Begin is called with the configuration before the first step, and Step as [engine.Deployment.Steps].
	Begin(config []abi.ConfigEntry)
	Step(before, after *state.Resource)
}

// Followers returns the followers of deployments.
func (a *App) Followers() []Follower {
	if a.Pulumi == nil {
		return nil
	}
	return a.Pulumi.Followers
}

// Shown returns the output on which people see a deployment.
func (a *App) Shown() *display.Output {
	if a.Pulumi != nil && a.Pulumi.Document {
		return a.Errs
	}
	return a.Out
}
