//! The rows of a file that a query may want: row groups by their statistics, and in a group the run
//! of the service.

use std::ops::Range;

use crate::file::{Group, Opened};
use crate::store::{Entry, Store};
use crate::table::Table;
use crate::texts::{Text, Texts};
use crate::{Error, Query};

/// Calls `each` with the groups and rows of a file of definitions or samples that may be of the
/// query's services, and of its time where the table has times. Rows of a file that cannot be read
/// to its end are left out from there, and `told` says so.
pub(super) fn rows<T: Table>(
    (store, query): (&dyn Store, &Query),
    entry: &Entry,
    (texts, told): (&mut Texts, &mut Vec<String>),
    each: impl FnMut(&Group<'_>, Range<usize>, &mut Texts) -> Result<(), Error>,
) -> Result<(), Error> {
    match readable_rows::<T>(store, query, entry, texts, each) {
        Err(error) if error.is_of_a_file() => {
            told.push(error.to_string());
            Ok(())
        }
        done => done,
    }
}

fn readable_rows<T: Table>(
    store: &dyn Store,
    query: &Query,
    entry: &Entry,
    texts: &mut Texts,
    mut each: impl FnMut(&Group<'_>, Range<usize>, &mut Texts) -> Result<(), Error>,
) -> Result<(), Error> {
    let opened = Opened::new::<T>(store, entry)?;
    for at in 0..opened.groups() {
        if is_without(&opened, at, query) {
            continue;
        }
        let group = opened.group(at)?;
        let rows = match &query.services[..] {
            [service] => run(&group, service, texts)?,
            _ => 0..group.rows(),
        };
        if !rows.is_empty() {
            each(&group, rows, texts)?;
        }
    }
    Ok(())
}

/// The run of rows of a service. All rows, if there are several runs.
fn run(group: &Group<'_>, service: &str, texts: &mut Texts) -> Result<Range<usize>, Error> {
    let all = group.rows();
    let wanted = texts.add(service);
    let column = group.texts("service", 0..all, texts)?;
    Ok(match column.run_of(wanted, all) {
        (run, true) => run,
        (_, false) => 0..all,
    })
}

/// Whether the statistics of a row group exclude the query.
fn is_without(opened: &Opened<'_>, group: usize, query: &Query) -> bool {
    let outside = |column, wanted: &[&str]| {
        opened.texts_of(group, column).is_some_and(|(least, most)| {
            // A statistic may be cut to its first bytes: the least downwards, the greatest upwards.
            let is_in = |text: &&str| least <= text.as_bytes() && text.as_bytes() <= most;
            !wanted.is_empty() && !wanted.iter().any(is_in)
        })
    };
    let services: Vec<&str> = query.services.iter().map(String::as_str).collect();
    let times = opened.longs_of(group, "ts");
    outside("service", &services)
        || outside("type", query.kind.words())
        || times.is_some_and(|(least, most)| most < query.from || least >= query.to)
}

/// The numbers of the words for the query's type among texts.
pub(super) fn types(query: &Query, texts: &mut Texts) -> Vec<Text> {
    query
        .kind
        .words()
        .iter()
        .map(|word| texts.add(word))
        .collect()
}

/// The numbers of the query's services among texts; none for all services.
pub(super) struct Services(Vec<Text>);

impl Services {
    pub(super) fn new(query: &Query, texts: &mut Texts) -> Self {
        Self(
            query
                .services
                .iter()
                .map(|service| texts.add(service))
                .collect(),
        )
    }

    pub(super) fn has(&self, service: Text) -> bool {
        self.0.is_empty() || self.0.contains(&service)
    }
}
