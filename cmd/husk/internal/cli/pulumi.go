package cli

import (
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/display"
)

// Pulumi is what commands do beside their own if they answer a command line of Pulumi.
type Pulumi struct {
	// Followers are told of each deployment, and Message is what it is for.
	Followers []Follower
	Message   string
	// Document says that standard output is a follower's: people see the deployment on standard error.
	Document bool
	// Project is the text of the project file, instead of that in the directory; nil for none.
	Project []byte
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

// Followers returns who follows deployments.
func (a *App) Followers() []Follower {
	if a.Pulumi == nil {
		return nil
	}
	return a.Pulumi.Followers
}

// Shown returns where people see a deployment.
func (a *App) Shown() *display.Output {
	if a.Pulumi != nil && a.Pulumi.Document {
		return a.Errs
	}
	return a.Out
}
