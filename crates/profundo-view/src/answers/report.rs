//! Any report of the command, as its JSON. The page shows what `profundo report FILE WHAT --json`
//! prints, so its numbers are the same.

use profundo_analysis::{GroupBy, Transforms};
use profundo_model::{Clock, Profile, Tracing};
use profundo_report::{
    Allocs, Annotate, CallOrder, Callers, Choices, CountedLines, Exceptions, Format, Functions, Io,
    Lines, Memory, MemoryLines, Neighbours, Only, Report, SortBy, Spans, Spread, Stacks, Statprof,
    Summary, SummaryPart, Syscalls, Trace, View,
};

use super::Answer;
use crate::library::{Part, choices};
use crate::{Error, Library, Question};

pub(super) fn report(library: &Library, question: &Question) -> Result<Answer, Error> {
    if question.get("what") == Some("annotate") {
        return annotate(library, question);
    }
    let part = library.part(question)?;
    let profile = part.profile();
    let choices = choices(question, part.filter())?;
    Asked {
        question,
        part: &part,
        profile,
        choices,
        limit: question.parsed("limit")?,
    }
    .answer()
}

/// The instructions of a function. They are found in stacks as they were recorded, so transforms do
/// not matter.
fn annotate(library: &Library, question: &Question) -> Result<Answer, Error> {
    let mut filter = question.filter()?;
    filter.transforms = Transforms::default();
    let question = question.clone().with("filter", &filter);
    let part = library.part(&question)?;
    let name = question.get("name").unwrap_or_default();
    let number: usize = question.parsed("recording")?.unwrap_or(0);
    let source = library
        .source(number)
        .ok_or_else(|| Error::Unknown("recording".to_owned()))?;
    let mut profile = part.profile().clone();
    let listings = (source.listings(&mut profile, part.filter(), name)).map_err(Error::Nothing)?;
    let view = Annotate::new(name, listings).all(true);
    let choices = Choices::command().filter(part.filter().clone());
    let mut bytes = Vec::new();
    view.choices(choices).write_json(&profile, &mut bytes)?;
    Ok(Answer {
        bytes,
        is: "application/json",
    })
}

struct Asked<'a> {
    question: &'a Question,
    part: &'a Part,
    profile: &'a Profile,
    choices: Choices,
    limit: Option<usize>,
}

/// Sets a view's limit where the question has one.
macro_rules! limited {
    ($asked:expr, $view:expr) => {
        match $asked.limit {
            Some(limit) => $view.limit(limit),
            None => $view,
        }
    };
}

impl Asked<'_> {
    fn answer(self) -> Result<Answer, Error> {
        let question = self.question;
        let name = question.get("name").unwrap_or_default();
        let traced = &self.profile.traced;
        let is_untimed = traced.clock == Clock::None && !traced.calls.is_empty();
        match question.get("what").unwrap_or("summary") {
            "summary"
                if question.get("parts").is_none() && traced.tracing == Tracing::Exceptions =>
            {
                self.json(Exceptions::new())
            }
            "summary" if question.get("parts").is_none() && is_untimed => self.trace(Trace::new()),
            "summary" => {
                let parts = question.get("parts").map(SummaryPart::all_of).transpose();
                let summary =
                    Summary::new().parts(parts.map_err(|why| Error::value("parts", why))?);
                let summary = match self.limit {
                    Some(limit) => {
                        (summary.lines(limit).functions(limit).table(limit)).small_rows(true)
                    }
                    None => summary,
                };
                self.json(summary)
            }
            "counted_lines" => self.counted_lines(),
            // A recording may have lines of both kinds: `sampled` says which are meant.
            "lines" if has_counted_lines(self.profile) && !question.is("sampled") => {
                self.counted_lines()
            }
            "lines" => self.lines(),
            "functions" => {
                let functions = limited!(self, Functions::new());
                let functions = match question.parsed::<SortBy>("sort")? {
                    Some(order) => functions.sorted_by(order),
                    None => functions,
                };
                let file = question.get("file");
                let answer = self.json(functions)?;
                match file {
                    Some(file) => of_file(&answer, file),
                    None => Ok(answer),
                }
            }
            "tree" => self.library_report(Format::Tree),
            "flat" => self.library_report(Format::Flat),
            "callers" => self.json(Callers::new(name)),
            "callees" => self.json(Callers::callees_of(name)),
            "calls" => self.json(Callers::both(name)),
            "io" => {
                let io = limited!(self, Io::new()).statements(question.is("statements"));
                self.json(io)
            }
            "syscalls" => {
                let syscalls = limited!(self, Syscalls::new());
                self.json(syscalls)
            }
            "memory" => {
                let memory = limited!(self, Memory::new());
                self.json(memory)
            }
            "allocs" => {
                let of_type = question.get("type").map(str::to_owned);
                let allocs = limited!(self, Allocs::new()).small_rows(true);
                let allocs = allocs
                    .of_type(of_type)
                    .statements(question.is("statements"))
                    .rows(self.limit.unwrap_or(usize::MAX));
                self.json(allocs)
            }
            "memory_lines" => {
                let lines = limited!(self, MemoryLines::new());
                self.json(lines)
            }
            "trace" => self.trace(Trace::new()),
            "exceptions" => {
                let exceptions = limited!(self, Exceptions::new());
                self.json(exceptions)
            }
            "spans" => {
                let by: Option<GroupBy> = question.parsed("by")?;
                let spans = limited!(self, Spans::new().by(by.unwrap_or_default()));
                self.json(spans)
            }
            "spread" => {
                let spread = limited!(self, Spread::new().total(question.is("total")));
                self.json(spread)
            }
            "statprof" => self.json(Statprof::new()),
            "stacks" => self.json(Stacks::new()),
            other => Err(Error::value(
                "what",
                format!("there is no report “{other}”"),
            )),
        }
    }

    fn lines(self) -> Result<Answer, Error> {
        let question = self.question;
        let mut lines = limited!(self, Lines::new())
            .all_lines(question.is("all_lines"))
            .total(question.is("total"))
            .libraries(question.get("libraries") == Some("shown"))
            .statements(question.is("statements"));
        if let Some(context) = question.parsed("context")? {
            lines = lines.context(context);
        }
        if let Some(min_share) = question.parsed("min_share")? {
            lines = lines.min_share(min_share);
        }
        self.json(lines)
    }

    /// Lines that were counted: of all functions, or of those of one file, and with `line` of one.
    fn counted_lines(self) -> Result<Answer, Error> {
        let lines = limited!(self, CountedLines::new()).without_lines(self.question.is("bare"));
        let line = self.question.parsed("line")?.unwrap_or(0);
        let lines = match self.question.get("file") {
            Some(file) => lines.of(file, line),
            None => lines,
        };
        self.json(lines)
    }

    fn trace(self, trace: Trace) -> Result<Answer, Error> {
        let question = self.question;
        let trace = match question.parsed::<CallOrder>("sort")? {
            Some(order) => trace.sorted_by(order),
            None => trace,
        };
        let trace = match question.get("name") {
            Some(name) => trace.only(Only::Is(name.to_owned())),
            None => trace,
        };
        let trace = match self.limit {
            Some(limit) => trace.only(Only::First(limit)),
            None => trace,
        };
        let neighbours = match question.get("neighbours") {
            Some("callers") => Neighbours::Callers,
            Some("callees") => Neighbours::Callees,
            _ => Neighbours::None,
        };
        self.json(trace.neighbours(neighbours).bare(question.is("bare")))
    }

    fn library_report(self, format: Format) -> Result<Answer, Error> {
        let question = self.question;
        let by: Option<GroupBy> = question.parsed("by")?;
        let report = Report::new()
            .format(format)
            .group_by(by.unwrap_or_default())
            .choices(self.choices);
        let mut bytes = Vec::new();
        report.write_json(self.profile, &mut bytes)?;
        Ok(Answer {
            bytes,
            is: "application/json",
        })
    }

    fn json(self, view: impl View) -> Result<Answer, Error> {
        let mut bytes = Vec::new();
        let view = view.choices(self.choices);
        view.write_json_of(self.profile, &self.part.selection(), &mut bytes)?;
        Ok(Answer {
            bytes,
            is: "application/json",
        })
    }
}

/// The functions of one file, in their order among all.
fn of_file(answer: &Answer, file: &str) -> Result<Answer, Error> {
    let mut report: serde_json::Value = serde_json::from_slice(&answer.bytes)?;
    if let Some(rows) = report
        .get_mut("functions")
        .and_then(|rows| rows.as_array_mut())
    {
        rows.retain(|row| row["file"] == file);
    }
    Answer::json(&report)
}

/// True if lines were counted, not calls: what `lines` prints of such a recording.
fn has_counted_lines(profile: &Profile) -> bool {
    let traced = &profile.traced;
    !traced.lines.is_empty() || profile.samples.is_empty() && traced.tracing.is_of_lines()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn functions_of_a_file_keep_their_order_and_the_rest_of_the_report() {
        let row = |name: &str, file: Value| json!({"function": name, "file": file});
        let [a, b, c] = ["a", "b", "c"].map(|name| row(name, json!("/x.py")));
        let others = [row("d", json!("/y.py")), row("e", Value::Null)];
        let report = json!({"functions": [b, others[0], a, others[1], c], "unseen_share": 0.5});
        let found = of_file(&Answer::json(&report).unwrap(), "/x.py").unwrap();
        let found: Value = serde_json::from_slice(&found.bytes).unwrap();
        assert_eq!(found, json!({"functions": [b, a, c], "unseen_share": 0.5}));
    }
}
