"""Tasks -> what SkyPilot's own parser makes of each, a line of JSON each, read where it would be started."""

import json
import os
import sys

import sky


def told(folder: str, path: str) -> dict[str, object]:
    os.chdir(folder)
    task = sky.Task.from_yaml(path)
    (resources,) = task.resources
    return {
        "name": task.name,
        "nodes": task.num_nodes,
        "accelerators": resources.accelerators,
        "spot": resources.use_spot,
        "recovery": resources.job_recovery,
        "image": resources.extract_docker_image(),
        "run": task.run,
        "setup": task.setup,
        "envs": task.envs,
        "volumes": task.volumes,
        "files": task.file_mounts,
        "buckets": {
            target: [storage.source, storage.mode.value]
            for target, storage in task.storage_mounts.items()
        },
    }


for line in sys.stdin:
    folder, path = line.rstrip("\n").split("\t")
    try:
        print(json.dumps(told(folder, path)))
    except Exception as error:  # its parser raises many kinds
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
