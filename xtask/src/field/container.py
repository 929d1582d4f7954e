"""Runs a command in a container, under the rules of Docker: its seccomp profile, no capability, no
new privileges, and namespaces of its own for processes, mounts, IPC, names and the network. The root
is this machine's, read-only.

    container.py [OPTION…] -- COMMAND…

    --noexec        nothing may be executed from /tmp
    --no-shm        there is no /dev/shm
    --user          as user 65534
    --user-namespace  as root of a user namespace
    --memory MB     with so much memory
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

PROFILE = "/usr/share/containers/seccomp.json"


def seccomp():
    """The profile for a program without capabilities, in the form of the OCI."""
    with open(PROFILE) as file:
        profile = json.load(file)
    rules = []
    for rule in profile["syscalls"]:
        includes = rule.get("includes", {})
        arches = includes.get("arches", ["amd64"])
        if includes.get("caps") or "amd64" not in arches:
            continue
        kept = {"names": rule["names"], "action": rule["action"]}
        if rule.get("args"):
            kept["args"] = rule["args"]
        if "errnoRet" in rule:
            kept["errnoRet"] = rule["errnoRet"]
        rules.append(kept)
    return {
        "defaultAction": profile["defaultAction"],
        "defaultErrnoRet": profile.get("defaultErrnoRet", 1),
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
        "syscalls": rules,
    }


def mount(place, kind, options, source=None):
    return {"destination": place, "type": kind, "source": source or kind, "options": options}


def config(options, root):
    temporary = ["nosuid", "nodev", "mode=1777"]
    here = os.environ["HERE"]
    mounts = [
        mount("/proc", "proc", []),
        mount("/dev", "tmpfs", ["nosuid", "noexec", "mode=755", "size=65536k"]),
        mount("/dev/pts", "devpts", ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]),
        mount("/tmp", "tmpfs", temporary + ["noexec"] * options.noexec),
        mount(here, "bind", ["bind", "rw"] + ["noexec"] * options.noexec, here),
    ]
    if not options.no_shm:
        mounts.append(mount("/dev/shm", "tmpfs", temporary + ["noexec", "size=65536k"]))
    namespaces = ["pid", "mount", "ipc", "uts", "network"]
    linux = {"seccomp": seccomp()}
    if options.user_namespace:
        namespaces.append("user")
        mapped = [{"containerID": 0, "hostID": 0, "size": 1}]
        linux.update(uidMappings=mapped, gidMappings=mapped)
    linux["namespaces"] = [{"type": name} for name in namespaces]
    user = 65534 if options.user else 0
    # The home folder does not exist, as in many images.
    variables = [f"{name}={os.environ[name]}" for name in ("HERE", "ROOT", "PATH")]
    process = {
        "user": {"uid": user, "gid": user},
        "args": options.command,
        "env": variables + ["HOME=/nonexistent", "PROFUNDO_NO_CONFIG=1"],
        "cwd": os.getcwd(),
        "noNewPrivileges": True,
        "capabilities": {},
    }
    return {
        "ociVersion": "1.0.0",
        "root": {"path": root, "readonly": True},
        "hostname": "container",
        "process": process,
        "mounts": mounts,
        "linux": linux,
    }


def limit_memory(megabytes):
    """This process and its children get no more memory."""
    number = os.getpid()
    for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = f"{root}/profundo-{number}"
        try:
            os.mkdir(group)
            with open(f"{group}/{limit}", "w") as file:
                file.write(str(megabytes << 20))
            with open(f"{group}/cgroup.procs", "w") as file:
                file.write(str(number))
            return
        except OSError:
            continue
    sys.exit("no cgroup can limit memory here")


def main():
    arguments = argparse.ArgumentParser()
    for name in ("noexec", "no-shm", "user", "user-namespace"):
        arguments.add_argument(f"--{name}", action="store_true")
    arguments.add_argument("--memory", type=int)
    at = sys.argv.index("--")
    options = arguments.parse_args(sys.argv[1:at])
    options.command = sys.argv[at + 1 :]
    if options.user:
        os.chmod(os.environ["HERE"], 0o777)
        os.chmod(os.getcwd(), 0o777)
    if options.memory:
        limit_memory(options.memory)
    with tempfile.TemporaryDirectory() as folder:
        root = f"{folder}/root"
        os.mkdir(root)
        with open(f"{folder}/config.json", "w") as file:
            json.dump(config(options, root), file)
        run = ["crun", "--cgroup-manager=disabled", "run", "--bundle", folder, f"field-{os.getpid()}"]
        # crun does not begin where both versions of cgroups are mounted.
        both = os.path.ismount("/sys/fs/cgroup/unified")
        aside = "umount /sys/fs/cgroup/unified; " if both else ""
        script = ["unshare", "-m", "sh", "-c", f'{aside}mount --bind / {root}; exec "$@"', "sh"]
        sys.exit(subprocess.run(script + run).returncode)


main()
