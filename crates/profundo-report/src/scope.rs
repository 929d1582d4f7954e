//! What a report is about: which samples, and how much of their stacks. It is the same for every
//! report, so that one may look at the same thing in several shapes.

use profundo_analysis::{Filter, Hidden, Libraries, Selection, Shown};
use profundo_model::Profile;

/// What a report is about. The default is the library's: all samples, C frames hidden.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choices {
    /// Which samples.
    pub filter: Filter,
    /// What is shown of their stacks.
    pub shown: Shown,
    /// Whether advice is for a person who typed a command, not for one who writes Rust.
    pub(crate) is_command: bool,
}

impl Choices {
    /// The library's choices: all samples, C frames hidden.
    pub fn new() -> Self {
        Self::default()
    }

    /// The command's choices: all samples, and of their stacks all but plumbing.
    pub fn command() -> Self {
        Self {
            filter: Filter::default(),
            shown: Shown::COMMAND,
            is_command: true,
        }
    }

    /// Which samples.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Which languages are hidden.
    pub fn hidden(mut self, hidden: Hidden) -> Self {
        self.shown.hidden = hidden;
        self
    }

    /// What becomes of code that is not the reader's own.
    pub fn libraries(mut self, libraries: Libraries) -> Self {
        self.shown.libraries = libraries;
        self
    }

    /// Whether only the reader's own code is shown: the time of libraries is that of their
    /// nearest caller.
    pub fn only_mine(self, only_mine: bool) -> Self {
        self.libraries(if only_mine {
            Libraries::Hidden
        } else {
            Libraries::Shown
        })
    }

    /// The samples.
    pub(crate) fn select(&self, profile: &Profile) -> Selection {
        Selection::new(profile, &self.filter)
    }

    /// The filter in words, where there is one.
    pub fn words(&self) -> Option<String> {
        use profundo_analysis::{ProcessChoice, TaskChoice, ThreadChoice};
        let filter = &self.filter;
        let mut words: Vec<String> = Vec::new();
        let mut add = |what: &str, values: Vec<String>| {
            if !values.is_empty() {
                words.push(format!("{what} {}", values.join(" or ")));
            }
        };
        let quoted = |text: &str| format!("“{text}”");
        let threads = filter.named_threads.iter().map(|choice| match choice {
            ThreadChoice::Number(number) => number.to_string(),
            ThreadChoice::Name(name) => quoted(name.text()),
        });
        add("thread", threads.collect());
        let tasks = filter.named_tasks.iter().map(|choice| match choice {
            TaskChoice::Number(number) => format!("{number:#x}"),
            TaskChoice::Name(name) => quoted(name.text()),
        });
        add("task", tasks.collect());
        let processes = filter.processes.iter().map(|choice| match choice {
            ProcessChoice::Pid(pid) => pid.to_string(),
            ProcessChoice::Command(text) => quoted(text.text()),
        });
        add("process", processes.collect());
        add(
            "file",
            filter.files.iter().map(|it| quoted(it.text())).collect(),
        );
        add(
            "function",
            (filter.functions.iter().map(|it| quoted(it.text()))).collect(),
        );
        if !filter.threads.is_all() {
            words.push("some threads".to_owned());
        }
        if !filter.tasks.is_all() {
            words.push("some tasks".to_owned());
        }
        let seconds = |nanos: profundo_model::Nanos| format!("{:.3} s", nanos.0 as f64 / 1e9);
        match (filter.from, filter.to) {
            (Some(from), Some(to)) => words.push(format!("{} to {}", seconds(from), seconds(to))),
            (Some(from), None) => words.push(format!("from {}", seconds(from))),
            (None, Some(to)) => words.push(format!("before {}", seconds(to))),
            (None, None) => {}
        }
        (!words.is_empty()).then(|| words.join(", "))
    }
}
