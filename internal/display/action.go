package display

import (
	"strings"
	"time"

	"github.com/husk-dev/husk/engine"
)

// actionEvents are the words for when an action runs.
var actionEvents = map[string]string{
	"before-create": "before the creation of", "after-create": "after the creation of",
	"before-update": "before the update of", "after-update": "after the update of",
}

// actionSymbol begins the lines about actions.
const actionSymbol = ">> "

// startAction begins the live line of an action.
func (t *Text) startAction(a engine.ActionInfo) { t.acting[actionKey(a)] = time.Now() }

func actionKey(a engine.ActionInfo) string { return subject(a.Function, a.Name) + when(a) }

// when says at which step an action runs. It is empty for one that runs by itself.
func when(a engine.ActionInfo) string {
	if a.Event == "" {
		return ""
	}
	return " " + actionEvents[a.Event] + " " + subject(a.URN.Type(), a.URN.Name())
}

func (t *Text) showAction(e engine.ActionDone) {
	delete(t.acting, actionKey(e.Action))
	verb := "ran"
	if t.started.DryRun {
		verb = "run"
	}
	line := "  " + t.style.note(actionSymbol) + pad(subject(e.Action.Function, e.Action.Name)) + " " + t.style.note(verb) + when(e.Action)
	line += t.took(e.DurationMs)
	if t.options.Diff {
		line += "\n" + differences(t.style, engine.StepInfo{Inputs: e.Action.Arguments})
	}
	t.tellOf(e.Action, strings.TrimRight(line, "\n")+"\n")
}

// showFailedAction shows that an action failed. Why is among the errors at the end.
func (t *Text) showFailedAction(e engine.ActionFailed) {
	delete(t.acting, actionKey(e.Action))
	t.tellOf(e.Action, "  "+t.style.bad("!  "+pad(subject(e.Action.Function, e.Action.Name))+" failed"+when(e.Action))+"\n")
}

// tellOf writes the line of an action. One that runs after a step comes after the line of the step, which has
// not ended yet.
func (t *Text) tellOf(a engine.ActionInfo, line string) {
	if _, running := t.running[a.URN]; running && strings.HasPrefix(a.Event, "after-") {
		t.after[a.URN] = append(t.after[a.URN], line)
		return
	}
	t.tell(line)
}

// tellActions writes the lines of the actions after a step that has ended.
func (t *Text) tellActions(s engine.StepInfo) {
	for _, line := range t.after[key(s)] {
		t.tell(line)
	}
	delete(t.after, key(s))
}
