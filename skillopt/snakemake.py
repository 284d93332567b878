"""`python -m skillopt.snakemake ...`: the engine; until its jobs begin, Ctrl-C ends it without a word.

Its imports and the building of its graph take seconds, in which nothing has begun that could be put in order
(`tools.begin` heeds what comes later). Who starts it holds Ctrl-C back, since Python itself shows a traceback
for one that comes earlier than this. A process that was started to ignore Ctrl-C goes on doing so.
"""

import runpy
import signal

if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    runpy.run_module("snakemake", run_name="__main__", alter_sys=True)
