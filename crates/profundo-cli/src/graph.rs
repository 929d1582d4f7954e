//! `graph`: who calls whom as a picture, or as a text for Graphviz; and the square map.

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use profundo_console::output;
use profundo_formats::export::{Format, Options, write};
use profundo_model::Profile;

use crate::export::{self, Job};
use crate::options::{self, Graph, LayoutEngine};

pub fn graph(options: &Graph) -> Result<ExitCode> {
    if let Some(why) = options.misfit() {
        options::refuse(&why);
    }
    export::write(&Job {
        format: options.format(),
        head: &options.head,
        until: options.until.to,
        measuring: &options.measuring,
        options: options.options(),
        by_graphviz: options.engine == Some(LayoutEngine::Dot),
    })
}

/// Writes the picture that Graphviz makes of the graph.
pub fn by_graphviz(profile: &Profile, options: &Options, path: &Path) -> Result<()> {
    let mut text = Vec::new();
    write(profile, Format::DOT, options, &mut text)?;
    let started = Command::new("dot")
        .arg("-Tsvg")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut dot = started.context(
        "cannot run `dot` of Graphviz; without `--engine dot`, profundo lays the graph out itself",
    )?;
    // Graphviz reads everything before it writes.
    if let Some(mut input) = dot.stdin.take() {
        let written = input.write_all(&text);
        if let Err(error) = written
            && error.kind() != std::io::ErrorKind::BrokenPipe
        {
            return Err(error).context("cannot give the graph to `dot`");
        }
    }
    let made = dot.wait_with_output()?;
    if !made.status.success() {
        let why = String::from_utf8_lossy(&made.stderr);
        let first = why.lines().next().unwrap_or("it said nothing");
        bail!("`dot` failed: {first}");
    }
    // The mark by which the file is known as a picture of ours.
    let picture = String::from_utf8_lossy(&made.stdout);
    let picture = picture.replacen("<svg ", "<svg data-graph=\"dot\" ", 1);
    let kind = output::Kind::Export(Format::GRAPH);
    // Whether it may be written was found out before.
    let file = output::Text::create(path, kind, &[], true)?;
    file.write(|out| Ok(out.write_all(picture.as_bytes())?))
}
