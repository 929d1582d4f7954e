//! What a process belongs to: its service, version, host, container and pod.
//!
//! What the user says comes first. Then comes the process's environment, by the variables that are
//! used for traces and metrics already (OpenTelemetry's and Datadog's), its control group, and at
//! last the name of its program. Of the environment, only these variables are read.

use std::collections::BTreeMap;

use profundo_launch::process_program;
use profundo_linux::cgroup::Place;
use profundo_linux::proc;
use profundo_process::modules::executable_of;
use profundo_store::Identity;
use profundo_wire::recording::{Event, ProcessInfo};

/// The service of the kernel's own threads.
const KERNEL: &str = "kernel";
/// The service of processes that ended before anything was known of them.
const UNKNOWN: &str = "unknown";
/// Programs that run others: their own build says nothing about the version of a service.
const INTERPRETERS: [&str; 14] = [
    "python", "pypy", "node", "java", "ruby", "perl", "php", "julia", "bash", "dash", "zsh", "sh",
    "busybox", "deno",
];
/// The most processes whose labels are remembered for their children.
const MOST: usize = 1 << 16;

/// Labels that were found, by key.
type Found = BTreeMap<&'static str, String>;

/// Gives processes their labels as they are entered.
#[derive(Debug)]
pub struct Labeling {
    said: Identity,
    /// The service of processes that have none of their own.
    fallback: Option<String>,
    /// By the key of a process in the recording.
    known: BTreeMap<u32, Found>,
}

impl Labeling {
    /// Labels beside those that the user has said.
    pub fn new(said: Identity) -> Self {
        Self {
            said,
            fallback: None,
            known: BTreeMap::new(),
        }
    }

    /// Processes that name no service of their own are of this one.
    pub fn with_fallback(mut self, service: String) -> Self {
        self.fallback = Some(service);
        self
    }

    /// Adds labels to a process that is entered.
    pub fn event(&mut self, event: &mut Event<'_>) {
        if let Event::Process(info) = event {
            let found = self.of(info);
            for (&key, value) in &found {
                self.add(info, key, value);
            }
            while self.known.len() >= MOST {
                self.known.pop_first();
            }
            self.known.insert(info.key, found);
        }
    }

    fn add(&self, info: &mut ProcessInfo, key: &str, value: &str) {
        let said = match key {
            "service" => !self.said.service.is_empty(),
            "version" => !self.said.version.is_empty(),
            "host" => !self.said.host.is_empty(),
            "container" => !self.said.container.is_empty(),
            "pod" => !self.said.pod.is_empty(),
            _ => self.said.labels.iter().any(|(known, _)| known == key),
        };
        let labels = &mut info.labels;
        if said || labels.iter().any(|(known, _)| known == key) && key != "pod" {
            return;
        }
        labels.retain(|(known, _)| known != key);
        labels.push((key.to_owned(), value.to_owned()));
    }

    fn of(&self, info: &ProcessInfo) -> Found {
        if info.command.starts_with('[') {
            return Found::from([("service", KERNEL.to_owned())]);
        }
        let environment = proc::read(info.pid, "environ");
        if environment.is_empty() {
            // It has ended, or is another user's: it is like the one that has started it.
            let parent = self.known.get(&info.parent).cloned();
            if let Some(found) = parent {
                return found;
            }
        }
        let mut found = in_environment(&environment);
        let place = Place::of(info.pid).unwrap_or_default();
        let placed = [
            ("container", place.container),
            ("pod", place.pod),
            ("unit", place.unit.clone()),
        ];
        for (key, value) in placed {
            if let Some(value) = value {
                found.entry(key).or_insert(value);
            }
        }
        found.entry("service").or_insert_with(|| {
            let unit = place.unit.as_deref().and_then(service_of_unit);
            let known = unit.map(str::to_owned).or_else(|| self.fallback.clone());
            known.unwrap_or_else(|| program(info))
        });
        // Services start other programs as well, whose builds are not theirs.
        let is_own = found.get("service") == Some(&program(info));
        if is_own
            && !found.contains_key("version")
            && let Some(build) = build(info)
        {
            found.insert("version", build);
        }
        found
    }
}

/// The name of the program that a process runs.
fn program(info: &ProcessInfo) -> String {
    let name = process_program(info.pid);
    if name != "process" {
        return name;
    }
    // It has ended, perhaps before its command line was read.
    match info.command.split(' ').next().unwrap_or_default() {
        "" | "process" => UNKNOWN.to_owned(),
        first => first.rsplit('/').next().unwrap_or_default().to_owned(),
    }
}

/// The first digits of the build id of a program's own file.
fn build(info: &ProcessInfo) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/{}/exe", info.pid)).ok()?;
    let name = path.file_name()?.to_str()?;
    if INTERPRETERS.iter().any(|known| is_version_of(name, known)) {
        return None;
    }
    let id = executable_of(info.pid)?.build_id();
    let digits = id.iter().take(6).map(|byte| format!("{byte:02x}"));
    Some(digits.collect::<String>()).filter(|digits| !digits.is_empty())
}

/// Whether `name` is `program`, perhaps with the number of a version behind it.
fn is_version_of(name: &str, program: &str) -> bool {
    let rest = name.strip_prefix(program);
    rest.is_some_and(|rest| !rest.starts_with(|first: char| first.is_alphabetic() || first == '_'))
}

/// The service of a unit of systemd. Sessions and the managers of users are none.
fn service_of_unit(unit: &str) -> Option<&str> {
    let name = unit.strip_suffix(".service")?;
    (!name.starts_with("user@")).then_some(name)
}

/// The labels in an environment.
fn in_environment(environment: &[u8]) -> Found {
    let mut found = Found::new();
    let mut variables: BTreeMap<&str, &str> = BTreeMap::new();
    for entry in environment.split(|&byte| byte == 0) {
        let entry = std::str::from_utf8(entry).unwrap_or_default();
        if let Some((name, value)) = entry.split_once('=') {
            variables.insert(name, value);
        }
    }
    let mut put = |key, value: Option<&str>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            found.entry(key).or_insert_with(|| value.to_owned());
        }
    };
    let of = |name| variables.get(name).copied();
    put("service", of("OTEL_SERVICE_NAME"));
    let resources = of("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    for resource in resources.split(',') {
        let Some((name, value)) = resource.split_once('=') else {
            continue;
        };
        let key = match name.trim() {
            "service.name" => "service",
            "service.version" => "version",
            "service.namespace" => "namespace",
            "deployment.environment" | "deployment.environment.name" => "environment",
            "host.name" => "host",
            "container.id" => "container",
            "k8s.pod.name" => "pod",
            "k8s.namespace.name" => "k8s_namespace",
            "k8s.deployment.name" => "deployment",
            _ => continue,
        };
        put(key, Some(&unescaped(value.trim())));
    }
    put("service", of("DD_SERVICE"));
    put("version", of("DD_VERSION"));
    put("environment", of("DD_ENV"));
    put("pod", of("POD_NAME"));
    if variables.contains_key("KUBERNETES_SERVICE_HOST") {
        // A pod's name is the name of its host.
        put("pod", of("HOSTNAME"));
    }
    found
}

/// A value of `OTEL_RESOURCE_ATTRIBUTES`, in which `%2C` stands for a comma.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = (first == b'%').then(|| after.get(..2)).flatten();
        let value = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(value.unwrap_or(first));
        rest = match value {
            Some(_) => &after[2..],
            None => after,
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(environment: &str) -> Vec<(&'static str, String)> {
        let bytes = environment.replace('\n', "\0").into_bytes();
        in_environment(&bytes).into_iter().collect()
    }

    #[test]
    fn variables_of_traces_and_metrics_name_the_service() {
        let found = labels(
            "HOME=/root\nOTEL_SERVICE_NAME=api\n\
             OTEL_RESOURCE_ATTRIBUTES=service.name=other,service.version=1.4,host.name=a%2Cb,colour=red\n\
             DD_SERVICE=third\nDD_ENV=prod",
        );
        let wanted = [
            ("environment", "prod"),
            ("host", "a,b"),
            ("service", "api"),
            ("version", "1.4"),
        ];
        let wanted: Vec<_> = wanted.map(|(key, value)| (key, value.to_owned())).into();
        assert_eq!(found, wanted);
        assert!(labels("HOME=/root\nHOSTNAME=box\nDD_SERVICE=").is_empty());
        let pod = labels("KUBERNETES_SERVICE_HOST=10.0.0.1\nHOSTNAME=api-7f-x2");
        assert_eq!(pod, [("pod", "api-7f-x2".to_owned())]);
    }

    #[test]
    fn units_of_users_are_no_services() {
        assert_eq!(service_of_unit("nginx.service"), Some("nginx"));
        assert_eq!(service_of_unit("user@1000.service"), None);
        assert_eq!(service_of_unit("session-1.scope"), None);
    }

    #[test]
    fn interpreters_have_versions_of_their_own() {
        assert!(is_version_of("python3.12", "python") && is_version_of("python", "python"));
        assert!(is_version_of("bash", "bash") && !is_version_of("shred", "sh"));
        assert!(is_version_of("node", "node") && !is_version_of("node_exporter", "node"));
    }

    #[test]
    fn what_is_said_comes_first() {
        let said = Identity {
            service: "said".into(),
            ..Identity::default()
        };
        let info = |pid| ProcessInfo {
            key: 1,
            pid,
            command: "x".into(),
            ..ProcessInfo::default()
        };
        let label = |mut labeling: Labeling| {
            let mut event = Event::Process(info(std::process::id()));
            labeling.event(&mut event);
            let Event::Process(info) = event else {
                unreachable!()
            };
            let service = info.labels.into_iter().find(|(key, _)| key == "service");
            service.map(|(_, value)| value)
        };
        assert_eq!(label(Labeling::new(said)), None);
        let own = label(Labeling::new(Identity::default()).with_fallback("whole".into()));
        assert!(own.is_some(), "{own:?}");
    }

    #[test]
    fn a_process_that_is_gone_is_like_its_parent() {
        let mut labeling = Labeling::new(Identity::default());
        labeling
            .known
            .insert(7, Found::from([("service", "api".to_owned())]));
        let mut event = Event::Process(ProcessInfo {
            key: 8,
            // No process has this number.
            pid: u32::MAX,
            parent: 7,
            ..ProcessInfo::default()
        });
        labeling.event(&mut event);
        let Event::Process(info) = event else {
            unreachable!()
        };
        assert_eq!(info.labels, [("service".to_owned(), "api".to_owned())]);
    }
}
