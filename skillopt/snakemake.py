"""`python -m skillopt.snakemake ...`: the engine; until its jobs begin, Ctrl-C ends it without a word.

Its imports and the building of its graph take seconds, in which nothing has begun that could be put in order
(`tools.begin` heeds what comes later). A process that was started to ignore Ctrl-C goes on doing so.
"""

import runpy
import signal

if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    runpy.run_module("snakemake", run_name="__main__", alter_sys=True)
