//! The functions of a fleet's services that have grown since the version before: what they cost,
//! how sure that is, and what was compared.

mod json;
mod text;

use std::io;

use profundo_analysis::diff::Difference;
use profundo_analysis::growth::{Of, Replicas, Row, Service};
use profundo_model::Profile;

use super::Ready;
use crate::Look;
use crate::json::Json;
use crate::naming::Names;
use crate::page::Page;

/// Two versions of a service that were compared, or the reason why none were.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceVersions {
    service: String,
    versions: [String; 2],
    /// CPUs' worth of time before and after.
    cpus: [f64; 2],
    found: Result<Compared, String>,
}

/// What was compared.
#[derive(Debug, Clone, PartialEq)]
struct Compared {
    replicas: Replicas,
    counts: [usize; 2],
    samples: [u64; 2],
    factor: f64,
    rows: Vec<Named>,
}

/// A function that may have grown.
#[derive(Debug, Clone, PartialEq)]
struct Named {
    name: String,
    at: String,
    of: Of,
    difference: Difference,
    has_grown: bool,
}

impl ServiceVersions {
    /// Two versions that were compared. `cpus` are how many CPUs the service took before and after.
    pub fn compared(
        service: &str,
        versions: [&str; 2],
        cpus: [f64; 2],
        profile: &Profile,
        found: &Service,
    ) -> Self {
        let names = Names::of_all(profile);
        let named = |row: &Row| Named {
            name: names.function(row.place).to_owned(),
            at: names.at(row.place),
            of: row.of,
            difference: row.difference,
            has_grown: row.has_grown,
        };
        let compared = Compared {
            replicas: found.replicas,
            counts: found.counts,
            samples: found.samples,
            factor: found.factor,
            rows: found.rows.iter().map(named).collect(),
        };
        Self {
            service: service.to_owned(),
            versions: versions.map(str::to_owned),
            cpus,
            found: Ok(compared),
        }
    }

    /// A service that was not compared, for this reason.
    pub fn left_out(service: &str, why: String) -> Self {
        Self {
            service: service.to_owned(),
            versions: [String::new(), String::new()],
            cpus: [0.0; 2],
            found: Err(why),
        }
    }

    /// Takes over what [`profundo_analysis::growth::judge`] has marked.
    pub fn judged(&mut self, service: &Service) {
        if let Ok(compared) = &mut self.found {
            for (named, row) in compared.rows.iter_mut().zip(&service.rows) {
                named.has_grown = row.has_grown;
            }
        }
    }
}

/// The report on what has grown.
#[derive(Debug, Clone)]
pub struct Regressions {
    asked: String,
    services: Vec<ServiceVersions>,
    at_least: f64,
    false_alarms: f64,
    limit: usize,
    look: Look,
}

/// A function that has grown, with its service.
struct Grown<'a> {
    service: &'a ServiceVersions,
    row: &'a Named,
    /// CPUs' worth of time that it takes more.
    cost: f64,
}

impl Regressions {
    /// The report on these services. `asked` is what a store was asked.
    pub fn new(
        asked: &str,
        services: Vec<ServiceVersions>,
        at_least: f64,
        false_alarms: f64,
    ) -> Self {
        Self {
            asked: asked.to_owned(),
            services,
            at_least,
            false_alarms,
            limit: 20,
            look: Look::default(),
        }
    }

    /// Sets the number of functions that are shown at most.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Whether anything has grown.
    pub fn is_any(&self) -> bool {
        !self.grown(Of::Itself).is_empty() || !self.grown(Of::Callees).is_empty()
    }

    /// The functions that have grown, the most expensive first. Those that have grown by themselves
    /// are not among those that have grown with their callees.
    fn grown(&self, of: Of) -> Vec<Grown<'_>> {
        let mut all = Vec::new();
        for service in &self.services {
            let rows = service.found.as_ref().map_or(&[][..], |found| &found.rows);
            let has_grown = |row: &&Named| row.has_grown && row.of == of;
            let by_itself = |row: &Named| {
                let mut others = rows
                    .iter()
                    .filter(|row| row.has_grown && row.of == Of::Itself);
                others.any(|other| (&other.name, &other.at) == (&row.name, &row.at))
            };
            let rows = rows.iter().filter(has_grown);
            all.extend(
                rows.filter(|row| of == Of::Itself || !by_itself(row))
                    .map(|row| Grown {
                        service,
                        row,
                        cost: row.difference.change * service.cpus[1],
                    }),
            );
        }
        all.sort_by(|a, b| b.cost.total_cmp(&a.cost));
        all
    }
}

impl Ready for Regressions {
    fn name(&self) -> &'static str {
        "regressions"
    }

    fn appearance(&self) -> &Look {
        &self.look
    }

    fn appearance_mut(&mut self) -> &mut Look {
        &mut self.look
    }

    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        self.whole_text(page)
    }

    fn members(&self, json: &mut Json<'_>) {
        self.all_members(json);
    }
}
