"""The life of stacks, as the published Automation API for Python has it."""
import pulumi
from pulumi import automation as auto
from pulumi.automation._stack import ImportResource


class Thing(pulumi.CustomResource):
    def __init__(self, resource, **properties):
        super().__init__("lab:index:Thing", resource, properties)


def program():
    config = pulumi.Config()
    box = Thing("box", name="box", size=config.get_int("size") or 1)
    pulumi.export("id", box.id)
    pulumi.export("token", config.require_secret("token"))


def failing():
    raise Exception("this went wrong")


def raises(kind, do):
    try:
        do()
    except kind as error:
        return error
    raise AssertionError(f"{kind} is not raised")


def inline():
    """The project has no directory: the project file beside the program has the providers and the stacks."""
    made = {"stack_name": "dev", "project_name": "inline", "program": program}
    stack = auto.create_or_select_stack(**made)
    raises(auto.StackAlreadyExistsError, lambda: auto.create_stack(**made))
    raises(auto.StackNotFoundError, lambda: auto.select_stack(**{**made, "stack_name": "other"}))

    stack.set_all_config({"size": auto.ConfigValue("1"), "token": auto.ConfigValue("hunter22", secret=True), "more": auto.ConfigValue("x")})
    stack.set_config("size", auto.ConfigValue("2"))
    assert stack.get_config("size").value == "2"
    stack.remove_all_config(["more"])
    assert {key: (v.value, v.secret) for key, v in stack.get_all_config().items()} == {
        "inline:size": ("2", False), "inline:token": ("hunter22", True)}

    assert stack.preview().change_summary == {"create": 2}
    assert '"newState"' in stack.preview(json=True).stdout
    events = []
    up = stack.up(message="the first", on_event=events.append)
    assert {key: (v.value, v.secret) for key, v in up.outputs.items()} == {"id": ("thing-box", False), "token": ("hunter22", True)}
    assert (up.summary.kind, up.summary.result, up.summary.message, up.summary.version) == ("update", "succeeded", "the first", 1)
    assert up.summary.resource_changes == {"create": 2}
    box = next(e.res_outputs_event.metadata for e in events if e.res_outputs_event and e.res_outputs_event.metadata.type == "lab:index:Thing")
    assert (box.op, box.new.id, box.new.inputs["size"]) == (auto.OpType.CREATE, "thing-box", 2)
    assert [e.summary_event.resource_changes for e in events if e.summary_event] == [{"create": 2}]

    stack.set_config("size", auto.ConfigValue("3"))
    assert stack.preview().change_summary == {"same": 1, "update": 1}
    assert stack.up().summary.resource_changes == {"same": 1, "update": 1}
    assert stack.preview_refresh().change_summary == {"same": 1}
    assert stack.refresh().summary.kind == "refresh"
    state = stack.export_stack()
    assert any(r.get("id") == "thing-box" for r in state.deployment["resources"])
    stack.import_stack(state)
    found = stack.import_resources(resources=[ImportResource(type="lab:index:Thing", name="found", id="thing-found")], protect=False)
    assert found.summary.kind == "resource-import" and "type: lab:index:Thing" in found.generated_code

    assert [u.kind for u in stack.history(page_size=2)] == ["resource-import", "import"]
    stack.set_tag("team", "storage")
    assert stack.list_tags()["team"] == "storage"
    assert stack.workspace.who_am_i().user
    assert [(s.name, s.current) for s in stack.workspace.list_stacks()] == [("dev", True)]
    own = auto.LocalWorkspace(project_settings=auto.ProjectSettings(name="inline", runtime="python"))
    assert [s.name for s in own.list_stacks()] == ["dev"], "settings need not say where the program is"
    assert [(p.name, p.kind) for p in stack.workspace.list_plugins()] == [("lab", "resource")]

    stack.workspace.program = failing
    assert "this went wrong" in str(raises(auto.errors.InlineSourceRuntimeError, stack.up))
    stack.workspace.program = program

    assert stack.preview_destroy().change_summary == {"delete": 3}
    assert stack.destroy().summary.resource_changes == {"delete": 3}
    stack.workspace.remove_stack("dev")
    assert stack.workspace.list_stacks() == []


def local():
    """The project has a directory with a program in YAML."""
    stack = auto.create_stack(stack_name="organization/local/test", work_dir="local")
    stack.set_config("size", auto.ConfigValue("3"))
    assert stack.up().outputs["size"].value == 3
    stack.destroy(remove=True)


inline()
local()
print("lived")
