//! `push`: recordings go to a collector, to Pyroscope, or into a store.

use std::process::ExitCode;

use anyhow::{Context, Result};
use profundo_console::progress::Progress;
use profundo_console::stderr;
use profundo_model::Profile;
use profundo_push::{Destination, Error, Pusher, Settings};
use profundo_store::Identity;

use crate::open::{self, Samples};
use crate::options::{self, Labels, Push};
use crate::recordings::meant;

pub fn push(options: &Push) -> Result<ExitCode> {
    let usage = |error: Error| -> ! { options::refuse(&error.to_string()) };
    let destination = Destination::parse(&options.to).unwrap_or_else(|error| usage(error));
    let mut settings = Settings {
        patience: options.timeout,
        ..Settings::default()
    };
    for header in &options.header {
        settings = settings
            .with_header(header)
            .unwrap_or_else(|error| usage(error));
    }
    if matches!(destination, Destination::Otlp(_)) {
        settings = (settings.with_headers_of_environment()).unwrap_or_else(|error| usage(error));
    }
    let pusher = Pusher::new(destination, settings)?;
    let labels = Labels::all(&options.label);
    let mut failed = 0;
    for file in &options.files {
        let path = meant(Some(file))?;
        // The samples of a store and of OTLP have times.
        let profile = open::open(&path, Samples::Each, options.reading.value.as_deref())?;
        let identity = identity(&profile, options.service.as_deref(), &labels);
        let progress = Progress::start(format!("sending {}", path.display()));
        let sent = pusher.send(&profile, &identity);
        drop(progress);
        match sent {
            Ok(()) => {
                let name = match pusher.destination() {
                    // The address says it, or nothing does.
                    Destination::Pprof(_) => String::new(),
                    _ => format!(" as {}", identity.service),
                };
                let (file, to) = (path.display(), pusher.destination());
                stderr::note(&format!("{file} is at {to}{name}"));
            }
            Err(error) => {
                failed += 1;
                let shown = path.display();
                let error = Err::<(), _>(error).with_context(|| format!("cannot send {shown}"));
                stderr::error(&error.unwrap_err());
            }
        }
    }
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// Whose recording it is.
fn identity(profile: &Profile, service: Option<&str>, labels: &[(String, String)]) -> Identity {
    let mut identity = Identity {
        service: service.map_or_else(|| program(profile), str::to_owned),
        ..Identity::default()
    };
    for (key, value) in labels {
        let column = match &key[..] {
            "service" if service.is_none() => &mut identity.service,
            "host" => &mut identity.host,
            "version" => &mut identity.version,
            "container" => &mut identity.container,
            "pod" => &mut identity.pod,
            _ => {
                identity.labels.push((key.clone(), value.clone()));
                continue;
            }
        };
        value.clone_into(column);
    }
    identity
}

/// The name of the recorded program: of an interpreter, that of its script.
fn program(profile: &Profile) -> String {
    let command = profile.processes.first();
    let command = command.map_or("", |process| profile.strings.get(process.command));
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let mut words = command.split_whitespace();
    let first = base(words.next().unwrap_or_default());
    let script = words.find(|word| word.ends_with(".py"));
    match (script, &first[..]) {
        (Some(script), name) if name.starts_with("python") => {
            base(script).trim_end_matches(".py").to_owned()
        }
        (_, "") => "unknown_service".to_owned(),
        _ => first,
    }
}
