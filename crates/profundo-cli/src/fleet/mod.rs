//! Questions to a store of a fleet's profiles. A query stands wherever a recording does:
//! `DIR?service=api&from=-1h`. Its answer is a profile that every report takes, with names in it
//! already, so nothing is looked up on this machine.

mod absent;
mod listing;
mod replicas;
mod words;

use std::path::Path;
use std::sync::OnceLock;
use std::thread::available_parallelism;
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, anyhow, bail};
use profundo_console::options::WrongUsage;
use profundo_console::progress::Progress;
use profundo_model::Profile;
use profundo_store::{Error, Query, Store, answer, open};
use profundo_symbol_store::Cache;

pub use absent::why;
pub use listing::list;
pub use replicas::{Replicas, split};
pub use words::in_words;

/// The folders by which a store is known.
const FOLDERS: [&str; 2] = ["samples", "fresh"];

/// The gateway of the machines that answer queries, if not this one does.
static CLUSTER: OnceLock<String> = OnceLock::new();

/// Has the machines behind this gateway answer queries.
pub fn ask_cluster(gateway: String) {
    // The first one stays.
    let _ = CLUSTER.set(gateway);
}

/// The answer of other machines.
fn asked_of(cluster: &str, query: &Query) -> Result<Profile> {
    let file = profundo_store::cluster::ask(cluster, query)?;
    let read = profundo_formats::read(&file);
    let (profile, _) = read.with_context(|| format!("the answer of {cluster} is unreadable"))?;
    Ok(profile)
}

/// The text of a query, where a word is one. A folder with `?` behind it means to be one, also
/// where no key in it is known.
pub fn query(word: &Path) -> Option<&str> {
    let text = word.to_str()?;
    let of_folder = || {
        let place = text.split_once('?').map(|(place, _)| Path::new(place));
        place.is_some_and(Path::is_dir)
    };
    let is_one = text.starts_with("s3://") || Query::is_one(text) || of_folder();
    (is_one && !word.exists()).then_some(text)
}

/// Whether a folder is a store.
pub fn is_folder(word: &Path) -> bool {
    FOLDERS.iter().any(|folder| {
        let inner = word.join(folder);
        match *folder {
            "fresh" => inner.join("samples").is_dir(),
            _ => inner.is_dir(),
        }
    })
}

/// The time in milliseconds since 1970, the same each time: `-1h` means one time in a command.
pub fn now() -> i64 {
    static NOW: OnceLock<i64> = OnceLock::new();
    *NOW.get_or_init(|| {
        let since = UNIX_EPOCH.elapsed().unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// The number of threads that read a store.
pub fn threads() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// A query and its store.
pub struct Asked {
    /// The query.
    pub query: Query,
    /// Its store.
    pub store: Box<dyn Store>,
    /// The query as it was typed.
    pub text: String,
}

impl Asked {
    /// The query of a text.
    pub fn new(text: &str) -> Result<Self> {
        let query = Query::parse(text, now()).map_err(|error| match error {
            Error::Query { .. } => anyhow!(WrongUsage(error.to_string())),
            other => anyhow!(other),
        })?;
        let place = &query.place;
        if !place.starts_with("s3://") && !Path::new(place).is_dir() {
            bail!("there is no folder {place}");
        }
        let store = open(place).with_context(|| cannot_read(place))?;
        Ok(Self {
            query,
            store,
            text: text.to_owned(),
        })
    }

    /// The answer as the store gives it, without the words on it.
    pub fn answer(&self, query: &Query) -> Result<Profile> {
        let mut profile = match CLUSTER.get() {
            Some(cluster) => asked_of(cluster, query)?,
            None => {
                let read = answer(&*self.store, query, threads());
                read.with_context(|| cannot_read(&query.place))?
            }
        };
        let named = profundo_symbol_store::name(&mut profile, &*self.store, &Cache::of_user());
        profile.meta.notes.extend(words::without_symbols(&named));
        Ok(profile)
    }
}

/// What failed, where a store did.
pub fn cannot_read(place: &str) -> String {
    format!("cannot read the store {place}")
}

/// The answer to a query. Fails with a sentence on what there is, where nothing is found.
pub fn read(text: &str) -> Result<Profile> {
    let asked = Asked::new(text)?;
    if !text.contains('?') {
        bail!("{}", absent::no_query(&asked)?);
    }
    let progress = Progress::start(format!("reading {}", asked.query.place));
    let profile = asked.answer(&asked.query);
    drop(progress);
    let mut profile = profile?;
    if profile.samples.is_empty() {
        bail!("{}", absent::why(&asked, &profile)?);
    }
    words::describe(&asked, &mut profile);
    Ok(profile)
}

/// A name for files made of a query's answer: its services and versions, or the store's.
pub fn name(word: &Path) -> Option<String> {
    let query = Query::parse(query(word)?, now()).ok()?;
    let versions = query.conditions.iter().filter(|one| one.key == "version");
    let mut parts: Vec<&str> = query.services.iter().map(String::as_str).collect();
    if parts.is_empty() {
        parts.extend(query.place.rsplit('/').find(|part| !part.is_empty()));
    }
    parts.extend(versions.flat_map(|one| one.values.iter().map(String::as_str)));
    let plain = |letter: char| match letter.is_alphanumeric() || "._-".contains(letter) {
        true => letter,
        false => '-',
    };
    Some(parts.join("-").chars().map(plain).collect())
}

/// The error for a folder that is a store, where a recording is expected.
pub fn without_query(folder: &Path) -> Result<String> {
    let text = folder.to_string_lossy();
    absent::no_query(&Asked::new(&text)?)
}
