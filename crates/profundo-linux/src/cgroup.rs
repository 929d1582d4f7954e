//! The group of the kernel that a process is in (its cgroup), and what its path shows: the unit of
//! systemd, the container, the pod.

use crate::proc;

/// The place of a process among the groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The path of its group, from the root of all groups; `/` where it is in none.
    pub path: String,
    /// The unit of systemd, such as `nginx.service`.
    pub unit: Option<String>,
    /// The first twelve digits of its container's number, as the tools of containers print it.
    pub container: Option<String>,
    /// The number of its pod.
    pub pod: Option<String>,
}

impl Place {
    /// The place of a process. `None` if it has ended, or the kernel has no groups.
    pub fn of(pid: u32) -> Option<Self> {
        let text = proc::read(pid, "cgroup");
        path_in(&String::from_utf8_lossy(&text)).map(Self::at)
    }

    /// What the path of a group shows.
    fn at(path: &str) -> Self {
        let mut place = Self {
            path: path.to_owned(),
            ..Self::default()
        };
        for folder in path.split('/') {
            if let Some(pod) = pod(folder) {
                place.pod = Some(pod);
            }
            if let Some(container) = container(folder) {
                place.container = Some(container);
            } else if is_unit(folder) {
                place.unit = Some(folder.to_owned());
            }
        }
        place
    }

    /// Whether it is in this group, or below: a path, or the name of one of its folders.
    pub fn is_in(&self, group: &str) -> bool {
        let wanted = group.trim_end_matches('/');
        if !wanted.contains('/') {
            return self.path.split('/').any(|folder| folder == wanted)
                || self
                    .container
                    .as_deref()
                    .is_some_and(|container| wanted.len() >= 12 && wanted.starts_with(container));
        }
        let (path, wanted) = (
            self.path.trim_start_matches('/'),
            wanted.trim_start_matches('/'),
        );
        let rest = path.strip_prefix(wanted);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// The path in the kernel's list of a process's groups: of the one hierarchy of version 2, or of
/// systemd's own, or of any.
fn path_in(list: &str) -> Option<&str> {
    let rows: Vec<(&str, &str)> = (list.lines())
        .filter_map(|line| line.split_once(':')?.1.split_once(':'))
        .collect();
    let of = |name: &str| rows.iter().find(|(names, _)| *names == name);
    let is_used = |row: &&(&str, &str)| row.1 != "/";
    let row = of("")
        .filter(is_used)
        .or_else(|| of("name=systemd").filter(is_used));
    let row = row
        .or_else(|| rows.iter().find(is_used))
        .or_else(|| rows.first());
    row.map(|&(_, path)| path)
}

/// The number of a container in the name of a folder: 64 digits, between what the tool that made it
/// has put before and after.
fn container(folder: &str) -> Option<String> {
    const DIGITS: usize = 64;
    const SHOWN: usize = 12;
    let name = folder.strip_suffix(".scope").unwrap_or(folder);
    let number = name.rsplit(['-', ':']).next()?;
    let is_number = number.len() == DIGITS && number.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| number.get(..SHOWN).map(str::to_owned))?
}

/// The number of a pod of Kubernetes in the name of a folder.
fn pod(folder: &str) -> Option<String> {
    let name = folder.strip_suffix(".slice").unwrap_or(folder);
    let at = name.rfind("pod")?;
    let is_name = at == 0 || name.get(..at)?.ends_with('-');
    let number = name.get(at + 3..)?;
    let is_number = number.len() >= 32
        && number
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b'-' | b'_'));
    (is_name && is_number).then(|| number.replace('_', "-"))
}

/// Whether a folder is a unit that runs processes.
fn is_unit(folder: &str) -> bool {
    const KINDS: &[&str] = &[".service", ".scope", ".socket", ".mount", ".swap"];
    KINDS.iter().any(|kind| folder.ends_with(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn the_path_is_that_of_the_hierarchy_in_use() {
        assert_eq!(path_in("0::/user.slice\n"), Some("/user.slice"));
        let old = "12:cpu,cpuacct:/a\n1:name=systemd:/b:c\n0::/\n";
        assert_eq!(path_in(old), Some("/b:c"));
        assert_eq!(path_in("4:cpu:/x\n0::/\n"), Some("/x"));
        assert_eq!(path_in("0::/\n"), Some("/"));
        assert_eq!(path_in(""), None);
    }

    #[test]
    fn units_containers_and_pods_are_found() {
        let place = |path: &str| {
            let place = Place::at(path);
            let text = |name: Option<String>| name.unwrap_or_default();
            [text(place.unit), text(place.container), text(place.pod)]
        };
        let of = |unit: &str, container: &str, pod: &str| [unit, container, pod].map(str::to_owned);
        assert_eq!(
            place("/system.slice/nginx.service"),
            of("nginx.service", "", "")
        );
        let session = "/user.slice/user-1000.slice/session-3.scope";
        assert_eq!(place(session), of("session-3.scope", "", ""));
        let short = "0123456789ab";
        assert_eq!(place(&format!("/docker/{NUMBER}")), of("", short, ""));
        let docker = format!("/system.slice/docker-{NUMBER}.scope");
        assert_eq!(place(&docker), of("", short, ""));
        let podman = format!("/machine.slice/libpod-{NUMBER}.scope/container");
        assert_eq!(place(&podman), of("", short, ""));
        let number = "1a2b3c4d_0000_1111_2222_333344445555";
        let kubernetes = format!(
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{number}.slice/\
             cri-containerd-{NUMBER}.scope"
        );
        let pod = number.replace('_', "-");
        assert_eq!(place(&kubernetes), of("", short, &pod));
        assert_eq!(place("/tripod/x.slice"), of("", "", ""));
        assert_eq!(place("/"), of("", "", ""));
    }

    #[test]
    fn a_group_is_named_by_its_path_or_a_folder() {
        let place = Place::at("/system.slice/nginx.service/workers");
        for group in [
            "nginx.service",
            "/system.slice",
            "system.slice/nginx.service/",
            "/",
        ] {
            assert!(place.is_in(group), "{group}");
        }
        for group in [
            "nginx",
            "/system.slice/nginx",
            "/nginx.service",
            "workers/x",
        ] {
            assert!(!place.is_in(group), "{group}");
        }
        let place = Place::at(&format!("/docker/{NUMBER}"));
        assert!(place.is_in(NUMBER) && place.is_in("0123456789ab") && !place.is_in("0123"));
    }

    #[test]
    fn this_process_has_a_place() {
        let place = Place::of(std::process::id());
        assert!(place.is_none_or(|place| place.path.starts_with('/')));
        assert_eq!(Place::of(u32::MAX - 1), None);
    }
}
