//! Own code and libraries here: the project, and the folders of libraries that exist.

use std::path::{Path, PathBuf};

use profundo_analysis::Rules;
use profundo_permits::{self as permits, Finding, Gap, Mend, Verdict};

use crate::config::Settings;

const OWN: &str = "own code";
const LIBRARIES: &str = "libraries";
/// Files and folders by which the folder of a project is known.
const MARKS: [&str; 6] = [
    ".git",
    ".hg",
    ".profundo",
    "pyproject.toml",
    "Cargo.toml",
    "package.json",
];

/// Each place, as own code or a library, and the rules of the settings.
pub fn findings(settings: &Settings) -> Vec<Finding> {
    let mine: Vec<&str> = settings.mine().collect();
    let rules = Rules::new(&mine);
    let is_library = |folder: &Path| {
        let file = folder.join("some/file");
        rules.is_library_file(&file.to_string_lossy())
    };
    let root = root();
    let mut found = vec![project(&root, is_library(&root))];
    for (what, folder) in places(&root) {
        let topic = if is_library(&folder) { LIBRARIES } else { OWN };
        found.push(Finding::fact(
            topic,
            format!("{}: {what}", folder.display()),
        ));
    }
    for file in &settings.files {
        for pattern in &file.mine {
            let (topic, pattern) = match pattern.strip_prefix('!') {
                Some(pattern) => (LIBRARIES, pattern),
                None => (OWN, pattern.as_str()),
            };
            // The pattern as it is written in the file, if that is known.
            let pattern = pattern.split_once("/./").map_or(pattern, |(_, rest)| rest);
            let path = file.path.strip_prefix(&root).unwrap_or(&file.path);
            let text = format!("{pattern} (a rule of {})", path.display());
            found.push(Finding::fact(topic, text));
        }
    }
    found
}

fn project(root: &Path, is_library: bool) -> Finding {
    let shown = root.display();
    match is_library {
        false => Finding::fact(
            OWN,
            format!("{shown}: what you work on. All code counts as yours unless it lies in a folder of libraries"),
        ),
        true => Finding::gap(
            OWN,
            Verdict::Partly,
            Gap {
                why: format!("{shown}: what you work on counts as a library, because it lies where libraries do"),
                mend: Some(Mend::Advice(
                    "--mine . says that it is yours; so does include = [\".\"] below [mine] in .profundo/config.toml"
                        .to_owned(),
                )),
            },
        ),
    }
}

/// The folder of the project around the current folder, or else the current folder.
fn root() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let mut upwards = here.ancestors();
    let root = upwards.find(|folder| MARKS.iter().any(|mark| folder.join(mark).exists()));
    root.unwrap_or(&here).to_owned()
}

/// The existing folders of libraries, each with a description.
fn places(root: &Path) -> Vec<(&'static str, PathBuf)> {
    let mut found = Vec::new();
    let mut add = |what, folder: PathBuf| {
        if folder.is_dir() && !found.iter().any(|(_, known)| *known == folder) {
            found.push((what, folder));
        }
    };
    let active = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let environments = [".venv", "venv", "env"].map(|name| root.join(name));
    for environment in active.into_iter().chain(environments) {
        for library in pythons_libraries(&environment) {
            add("an environment's packages", library.join("site-packages"));
        }
    }
    if let Some(library) = permits::first_python_library() {
        let packages = library.with_file_name("python3").join("dist-packages");
        add("installed packages", library.join("site-packages"));
        add("installed packages", packages);
        add("Python's own library", library);
    }
    add("packages of node's", root.join("node_modules"));
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    if let Some(cargo) = cargo.or_else(|| Some(home?.join(".cargo"))) {
        add("crates that cargo has fetched", cargo.join("registry/src"));
        add("crates from git", cargo.join("git/checkouts"));
    }
    add("the system's libraries", "/usr/lib".into());
    add("headers of libraries", "/usr/include".into());
    found
}

/// `lib/python3.12` and others of an installation.
fn pythons_libraries(prefix: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(prefix.join("lib"));
    let paths = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_prefix("python3.")
            .is_some_and(|minor| minor.starts_with(|first: char| first.is_ascii_digit()))
    };
    let mut found: Vec<PathBuf> = paths.filter(is_library).collect();
    found.sort();
    found
}
