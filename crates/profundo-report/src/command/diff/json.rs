//! The comparison as JSON.

use profundo_analysis::Place;
use profundo_analysis::diff::{Change, Difference, Row, Scale, Table, Unit};

use super::{Compared, Diff, command};
use crate::json::{Json, place};

impl Diff<'_> {
    pub(super) fn all_members(&self, json: &mut Json<'_>) {
        let comparison = self.comparison;
        json.text("verdict", &self.verdict_sentence());
        for (key, side) in ["before", "after"].into_iter().zip(self.sides) {
            json.array(key, |json| {
                for run in side {
                    json.row("", |json| recording(json, run));
                }
            });
        }
        match &self.filter {
            Some(words) => json.text("filter", words),
            None => json.null("filter"),
        }
        json.object("scale", |json| scale(json, &comparison.scale));
        json.text("unit", unit(comparison.unit));
        json.is("is_exact", comparison.is_exact);
        json.is("spread_is_measured", comparison.spread.1);
        json.share("spread_share", Some(comparison.spread.0));
        json.figure("common_factor", Some(comparison.factor));
        json.share("smallest_seen_share", Some(comparison.resolution[0]));
        json.share("smallest_seen_whole_share", Some(comparison.resolution[1]));
        json.row("whole", |json| {
            difference(json, "", comparison.unit, &comparison.whole)
        });
        match self.fail_above {
            Some(limit) => {
                json.share("fail_above_share", Some(limit));
                json.is("failed", self.fails());
            }
            None => {
                json.null("fail_above_share");
                json.is("failed", false);
            }
        }
        json.array("tables", |json| {
            for table in &comparison.tables {
                json.object("", |json| self.table_members(json, table));
            }
        });
        json.array("warnings", |json| {
            for warning in self.warnings() {
                json.text("", &warning);
            }
        });
    }

    fn table_members(&self, json: &mut Json<'_>, table: &Table) {
        json.text("by", table.by.name());
        json.text("unit", unit(table.unit));
        let is_wanted = |row: &&Row| self.by_chance || row.is_significant();
        let changed = || table.rows.iter().filter(is_wanted);
        json.array("rows", |json| {
            for row in changed().take(self.limit) {
                json.row("", |json| self.row_members(json, table, row));
            }
        });
        let left_out = changed().count().saturating_sub(self.limit);
        json.number("rows_left_out", left_out as u64);
        json.number("rows_by_chance", table.unclear() as u64);
    }

    fn row_members(&self, json: &mut Json<'_>, table: &Table, row: &Row) {
        match &row.of.name {
            Some(name) => json.text("name", name),
            None => json.text("name", &self.name(row).name),
        }
        let what = match &row.what {
            Change::None => "same",
            Change::New => "new",
            Change::Gone => "gone",
            Change::Moved => "moved",
            Change::Edited => "edited",
            Change::Renamed(_) => "renamed",
        };
        json.text("what", what);
        for (key, side, of) in [
            ("place_before", 0, row.of.before),
            ("place_after", 1, row.of.after),
        ] {
            match of {
                Some((run, at)) => {
                    let profile = self.sides[side][run].profile;
                    json.row(key, |json| place(json, profile, at));
                }
                None => json.null(key),
            }
        }
        let text = match (row.of.after, row.of.before) {
            (Some((_, Place::Frame(_))), _) | (_, Some((_, Place::Frame(_)))) => {
                self.name_with_text(table, row).text
            }
            _ => String::new(),
        };
        json.text_or_null("text", &text);
        difference(json, "self_", table.unit, &row.own);
        let total = row.total.unwrap_or(row.own);
        difference(json, "total_", table.unit, &total);
        let [before, after] = row.times.map_or([None, None], |times| times.map(Some));
        json.seconds("calls_seconds_before", before.map(|time| time as u64));
        json.seconds("calls_seconds_after", after.map(|time| time as u64));
    }
}

fn recording(json: &mut Json<'_>, run: &Compared<'_>) {
    let profile = run.profile;
    json.text("name", run.name);
    json.text_or_null("command", command(profile));
    let meta = &profile.meta;
    json.seconds(
        "duration_seconds",
        (meta.duration.0 > 0).then_some(meta.duration.0),
    );
    json.seconds(
        "started_unix_seconds",
        (meta.started_at_unix > 0).then_some(meta.started_at_unix),
    );
    json.number("samples", profile.samples_taken());
}

fn scale(json: &mut Json<'_>, scale: &Scale) {
    let (per, function, calls) = match scale {
        Scale::Run => ("run", None, None),
        Scale::Second => ("second", None, None),
        Scale::Share => ("share", None, None),
        Scale::Call { calls } => ("call", None, Some(*calls)),
        Scale::CallOf { function, calls } => ("call", Some(function), Some(*calls)),
        Scale::SecondOf { function } => ("second", Some(function), None),
    };
    json.text("per", per);
    json.text_or_null("function", function.map_or("", String::as_str));
    json.number_or_null("calls_before", calls.map(|calls| calls[0]));
    json.number_or_null("calls_after", calls.map(|calls| calls[1]));
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Time => "seconds",
        Unit::Bytes => "bytes",
        Unit::Count => "count",
    }
}

fn difference(json: &mut Json<'_>, name: &str, unit: Unit, of: &Difference) {
    let value = |value: f64| match unit {
        Unit::Time => value / 1e9,
        Unit::Bytes | Unit::Count => value,
    };
    for (key, amount) in [
        ("before", of.before),
        ("after", of.after),
        ("change", of.change),
        ("change_low", of.low),
        ("change_high", of.high),
    ] {
        json.figure(&format!("{name}{key}"), Some(value(amount)));
    }
    json.exactly(&format!("{name}p"), Some(of.p));
    json.is(&format!("{name}changed"), of.is_significant);
}
