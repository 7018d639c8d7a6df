# Runs a Pulumi program with the SDK that is installed: husk starts the interpreter with this text.
# What an SDK before its version 3.60 lacks is left out.
import asyncio
import inspect
import logging
import os
import runpy
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor

address, project, stack, organization, root, parallel, dry_run, program = sys.argv[1:]
try:
    import pulumi
    import pulumi.runtime
except ImportError as e:
    print(f"{e}: install the packages of the program, for example with pip install -r requirements.txt", file=sys.stderr)
    sys.exit(1)

runtime = pulumi.runtime
config = runtime.get_config_env()
if hasattr(runtime, "set_all_config"):
    runtime.set_all_config(config, runtime.get_config_secret_keys_env())
else:
    for key, value in config.items():
        runtime.set_config(key, value)

# The SDK has a thread for each operation that waits, so that their number has to have a bound.
workers = min(int(parallel), 256)
settings = {
    "monitor": address, "engine": address, "project": project, "stack": stack, "parallel": workers,
    "dry_run": dry_run == "true", "organization": organization, "root_directory": root,
}
known = inspect.signature(runtime.Settings.__init__).parameters
runtime.configure(runtime.Settings(**{k: v for k, v in settings.items() if k in known}))

sys.argv = [program]
# A program that has failed leaves futures behind, of which asyncio would complain.
logging.getLogger("asyncio").setLevel(logging.CRITICAL)
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
executor = ThreadPoolExecutor(max_workers=workers * 4)
loop.set_default_executor(executor)


def without_runner(e):
    """Returns the traceback of an exception from the program on."""
    first = frames = e.__traceback__
    while frames:
        runs = frames.tb_frame.f_code.co_filename in ("<frozen runpy>", runpy.__file__)
        frames = frames.tb_next
        if runs and frames:
            first = frames
    return "".join(traceback.format_exception(type(e), e, first))


code = 1
try:
    loop.run_until_complete(runtime.run_in_stack(lambda: runpy.run_path(program, run_name="__main__")))
    code = 0
except pulumi.RunError as e:
    # When the deployment has failed, husk has said why.
    if not str(e).startswith("Resource monitor has terminated"):
        pulumi.log.error(str(e))
    code = 32
except Exception as e:
    pulumi.log.error("Program failed with an unhandled exception:\n" + without_runner(e))
    code = 32
finally:
    executor.shutdown(wait=True)
    loop.close()
    sys.stdout.flush()
    sys.stderr.flush()
sys.exit(code)
