"""Snakemake for tests: it looks at SLURM's queue every half second.

The plugin waits longer and longer between two looks, up to three minutes, and no option
shortens that. Submitted jobs run the ordinary Snakemake.
"""

import asyncio
import sys

from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor


async def _sleep(executor: RemoteExecutor) -> None:
    await asyncio.sleep(0.5)


RemoteExecutor.sleep = _sleep

if __name__ == "__main__":
    from snakemake.cli import main

    sys.exit(main())
