//! The regressions as JSON.

use profundo_analysis::growth::{Of, Replicas};

use super::{Grown, Regressions, ServiceVersions};
use crate::json::Json;

impl Regressions {
    pub(super) fn all_members(&self, json: &mut Json<'_>) {
        json.text("asked", &self.asked);
        json.share("at_least_share", Some(self.at_least));
        json.share("false_alarms_share", Some(self.false_alarms));
        let mut left_out = 0;
        for (key, of) in [("functions", Of::Itself), ("callers", Of::Callees)] {
            let rows = self.grown(of);
            left_out += rows.len().saturating_sub(self.limit);
            json.array(key, |json| {
                for row in rows.iter().take(self.limit) {
                    json.row("", |json| row.members(json));
                }
            });
        }
        json.number("functions_left_out", left_out as u64);
        json.array("services", |json| {
            for service in &self.services {
                json.row("", |json| service.members(json));
            }
        });
    }
}

impl Grown<'_> {
    fn members(&self, json: &mut Json<'_>) {
        let difference = &self.row.difference;
        let [before, after] = &self.service.versions;
        json.text("service", &self.service.service);
        json.text("version_before", before);
        json.text("version_after", after);
        json.text("function", &self.row.name);
        json.text("at", &self.row.at);
        json.share("share_before", Some(difference.before));
        json.share("share_after", Some(difference.after));
        json.share("change_share", Some(difference.change));
        json.share("low_share", Some(difference.low));
        json.share("high_share", Some(difference.high));
        json.exactly("p", Some(difference.p));
        json.exactly("cpus", Some(self.cost));
    }
}

impl ServiceVersions {
    fn members(&self, json: &mut Json<'_>) {
        json.text("service", &self.service);
        let [before, after] = &self.versions;
        json.text_or_null("version_before", before);
        json.text_or_null("version_after", after);
        let found = self.found.as_ref().ok();
        let replicas = found.map_or("", |found| match found.replicas {
            Replicas::Hosts => "hosts",
            Replicas::Processes => "processes",
            Replicas::None => "none",
        });
        json.text_or_null("replicas", replicas);
        let count = |side: usize| found.map(|found| found.counts[side] as u64);
        json.number_or_null("replicas_before", count(0));
        json.number_or_null("replicas_after", count(1));
        let samples = |side: usize| found.map(|found| found.samples[side]);
        json.number_or_null("samples_before", samples(0));
        json.number_or_null("samples_after", samples(1));
        let cpus = |side: usize| found.map(|_| self.cpus[side]);
        json.exactly("cpus_before", cpus(0));
        json.exactly("cpus_after", cpus(1));
        json.figure("common_factor", found.map(|found| found.factor));
        json.number_or_null("functions", found.map(|found| found.rows.len() as u64));
        json.text_or_null(
            "why_not",
            self.found.as_ref().err().map_or("", String::as_str),
        );
    }
}
