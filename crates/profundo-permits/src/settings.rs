//! The machine's settings, read only to explain a refusal.

use std::fs;
use std::path::Path;

use profundo_linux::proc;
use profundo_linux::sys;

use super::gap::Mend;

/// Bit numbers of capabilities.
pub(super) mod capability {
    pub const PTRACE: u32 = 19;
    pub const ADMIN: u32 = 21;
    pub const RESOURCE: u32 = 24;
    pub const PERFMON: u32 = 38;
}

/// The kind of container that this process runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    Docker,
    Podman,
    Other,
}

/// The settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) user: u32,
    pub(super) capabilities: u64,
    /// Whether capabilities hold only in a user namespace.
    pub(super) in_user_namespace: bool,
    /// `kernel.perf_event_paranoid`.
    pub(super) paranoid: Option<i64>,
    /// `kernel.yama.ptrace_scope`.
    pub(super) scope: Option<i64>,
    /// Whether a seccomp filter is in force.
    pub(super) is_filtered: bool,
    pub(super) container: Option<Container>,
    /// The kernel's release, as `6.8.0-45-generic`.
    pub(super) release: String,
    /// `ID` and `ID_LIKE` of /etc/os-release.
    pub(super) distribution: String,
    /// The hard limit of open files.
    pub(super) files: u64,
}

impl Settings {
    pub(super) fn read() -> Self {
        let status =
            String::from_utf8_lossy(&proc::read(std::process::id(), "status")).into_owned();
        let setting = |name: &str| {
            let text = fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?;
            text.trim().parse().ok()
        };
        let (_, files) = sys::limit(libc::RLIMIT_NOFILE).unwrap_or((0, 0));
        Self {
            user: sys::user(),
            capabilities: field(&status, "CapEff:")
                .and_then(|set| u64::from_str_radix(set, 16).ok())
                .unwrap_or(0),
            in_user_namespace: is_part(
                &fs::read_to_string("/proc/self/uid_map").unwrap_or_default(),
            ),
            paranoid: setting("perf_event_paranoid"),
            scope: setting("yama/ptrace_scope"),
            is_filtered: field(&status, "Seccomp:") == Some("2"),
            container: container(),
            release: fs::read_to_string("/proc/sys/kernel/osrelease")
                .unwrap_or_default()
                .trim()
                .to_owned(),
            distribution: distribution(&fs::read_to_string("/etc/os-release").unwrap_or_default()),
            files,
        }
    }

    /// Whether this process has a capability that holds for the whole machine.
    pub(super) fn has(&self, capability: u32) -> bool {
        !self.in_user_namespace && self.capabilities & 1 << capability != 0
    }

    /// Whether perf's setting does not apply to this process.
    pub(super) fn may_perf(&self) -> bool {
        self.has(capability::PERFMON) || self.has(capability::ADMIN)
    }

    /// Sets one of the kernel's settings. A container has no own value of these.
    pub(super) fn sysctl(&self, assignment: &str) -> Mend {
        let command = match self.user {
            0 => format!("sysctl {assignment}"),
            _ => format!("sudo sysctl {assignment}"),
        };
        match self.container {
            None => Mend::Command(command),
            Some(_) => Mend::Command(format!("sudo sysctl {assignment}  # on the host")),
        }
    }

    /// Gives the container another right.
    pub(super) fn container_with(&self, docker: &str) -> Mend {
        match self.container {
            Some(Container::Docker) => Mend::Command(format!("docker run {docker} …")),
            Some(Container::Podman) => Mend::Command(format!("podman run {docker} …")),
            Some(Container::Other) | None => Mend::Advice(format!(
                "start what profundo runs in as `docker run {docker} …` would"
            )),
        }
    }

    /// The command, run by root.
    pub(super) fn as_root(&self, command: &str) -> Mend {
        match self.container {
            None => Mend::Command(format!("sudo {command}")),
            Some(_) => Mend::Command(format!("sudo {command}  # on the host, with the PID there")),
        }
    }

    pub(super) fn install_debug_files(&self, debian: &str, fedora: &str) -> Option<Mend> {
        let sudo = if self.user == 0 { "" } else { "sudo " };
        let is = |name: &str| {
            self.distribution
                .split_whitespace()
                .any(|word| word == name)
        };
        let command = if is("debian") || is("ubuntu") {
            format!("{sudo}apt install {debian}")
        } else if is("fedora") || is("rhel") {
            format!("{sudo}dnf debuginfo-install {fedora}")
        } else {
            return None;
        };
        Some(Mend::Command(command))
    }

    pub(super) fn surroundings(&self) -> String {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let plural = if processors == 1 { "" } else { "s" };
        let who = match self.user {
            0 if self.in_user_namespace => "root of a user namespace".to_owned(),
            0 => "root".to_owned(),
            user => format!("user {user}"),
        };
        let place = match self.container {
            None => "",
            Some(Container::Docker) => " · in a container of docker's",
            Some(Container::Podman) => " · in a container of podman's",
            Some(Container::Other) => " · in a container",
        };
        let release = &self.release;
        let machine = std::env::consts::ARCH;
        format!("Linux {release} · {machine}, {processors} CPU{plural} · {who}{place}")
    }
}

/// A field of `/proc/PID/status`.
pub(super) fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim())
}

/// Whether a user map is only a part of the machine's.
fn is_part(map: &str) -> bool {
    let words: Vec<&str> = map.split_whitespace().collect();
    !words.is_empty() && words != ["0", "0", "4294967295"]
}

fn container() -> Option<Container> {
    if Path::new("/.dockerenv").exists() {
        return Some(Container::Docker);
    }
    if Path::new("/run/.containerenv").exists() {
        return Some(Container::Podman);
    }
    let named = std::env::var_os("container").is_some();
    let begun = String::from_utf8_lossy(&proc::read(1, "cgroup")).into_owned();
    let is_one = ["docker", "kubepods", "containerd", "lxc"];
    let is_one = is_one.iter().any(|name| begun.contains(name));
    (named || is_one).then_some(Container::Other)
}

fn distribution(text: &str) -> String {
    let values = text.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        ["ID", "ID_LIKE"]
            .contains(&name)
            .then(|| value.trim_matches('"'))
    });
    values.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An ordinary user of an ordinary machine that permits everything.
    pub fn ordinary() -> Settings {
        Settings {
            user: 1000,
            capabilities: 0,
            in_user_namespace: false,
            paranoid: Some(2),
            scope: Some(0),
            is_filtered: false,
            container: None,
            release: "6.8.0-45-generic".into(),
            distribution: "ubuntu debian".into(),
            files: 1 << 20,
        }
    }

    #[test]
    fn this_machine_is_read() {
        let settings = Settings::read();
        assert_eq!(settings.user, sys::user());
        assert!(!settings.release.is_empty() && settings.files > 0);
        assert!(settings.surroundings().contains("CPU"));
    }

    #[test]
    fn texts_are_read() {
        assert!(!is_part("         0          0 4294967295\n"));
        assert!(is_part("0 1000 1\n"));
        let debian = distribution("NAME=\"X\"\nID=ubuntu\nID_LIKE=debian\n");
        assert_eq!(debian, "ubuntu debian");
        assert_eq!(field("A:\t1\nSeccomp:\t2\n", "Seccomp:"), Some("2"));
    }

    #[test]
    fn debug_files_come_by_the_distributions_own_command() {
        let install = |distribution: &str| {
            let settings = Settings {
                distribution: distribution.into(),
                ..ordinary()
            };
            settings.install_debug_files("libc6-dbg", "glibc")
        };
        let command = |text: &str| Some(Mend::Command(text.into()));
        assert_eq!(
            install("ubuntu debian"),
            command("sudo apt install libc6-dbg")
        );
        assert_eq!(
            install("fedora"),
            command("sudo dnf debuginfo-install glibc")
        );
        assert_eq!(install("arch"), None);
    }
}
