//! The names of rows: images, symbols, lines, and the programs and threads that they are of.

use profundo_model::{Language, LocationId, State, ThreadId, generated_name};
use rustc_hash::FxHashMap;

use super::head::Class;
use crate::{Builder, Named, language_of};

/// The names so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    threads: FxHashMap<(String, Option<(u8, u64)>), ThreadId>,
}

/// A function, and the state of a thread in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub location: LocationId,
    pub state: State,
}

impl Names {
    /// The location of a function of an image at a line as `opreport -g` writes it.
    pub(super) fn location(
        &mut self,
        builder: &mut Builder,
        (image, symbol): (&str, &str),
        line: &str,
    ) -> Place {
        let (file, line) = place(line);
        let is_unnamed = is_unnamed(image, symbol);
        let is_kernel = is_kernel(image);
        let module = match (is_kernel, image) {
            (true, _) => Some(builder.module("[kernel]")),
            (false, "") => None,
            (false, image) => Some(builder.module(image)),
        };
        let name = image.rsplit('/').next().unwrap_or(image);
        let unknown = format!("[unknown in {name}]");
        let function = if is_unnamed { &unknown } else { symbol };
        let generated = generated_name(function);
        // Code that Julia and others compile while they run.
        let is_generated = image.starts_with("anon ") || image.ends_with(".jo");
        let is_generated = is_generated && !is_unnamed || generated.language == Language::Julia;
        let (function, signature, language) = match language_of(function, file) {
            Language::Native if is_generated => (
                &generated.function[..],
                &generated.signature[..],
                generated.language,
            ),
            Language::Julia => (
                &generated.function[..],
                &generated.signature[..],
                Language::Julia,
            ),
            language => (function, "", language),
        };
        let frame = builder.frame(Named {
            function,
            signature,
            file,
            line,
            language: Some(language),
            ..Named::default()
        });
        Place {
            location: builder.location_of(frame, module),
            state: match is_kernel {
                true => State::System,
                false => State::Running,
            },
        }
    }

    /// The thread of a program, or of a column.
    pub(super) fn thread(
        &mut self,
        builder: &mut Builder,
        program: &str,
        class: Option<Class>,
    ) -> ThreadId {
        let number = class.map(|class| match class {
            Class::Thread(number) => (0, number),
            Class::Process(number) => (1, number),
            Class::Processor(number) => (2, number),
        });
        let key = (program.to_owned(), number);
        if let Some(&id) = self.threads.get(&key) {
            return id;
        }
        let id = match class {
            None if program.is_empty() => builder.only_thread(),
            Some(Class::Process(pid)) => builder.thread(u32::try_from(pid).unwrap_or(0), pid, ""),
            Some(Class::Thread(tid)) => builder.thread(0, tid, ""),
            Some(Class::Processor(number)) => {
                builder.thread(0, 1 << 40 | number, &format!("CPU {number}"))
            }
            None => {
                let process = builder.profile.hand_made_process(0, program);
                let number = builder.profile.threads.len() as u64 + 1;
                builder.profile.threads.push(profundo_model::Thread {
                    number,
                    process,
                    ..Default::default()
                })
            }
        };
        self.threads.insert(key, id);
        id
    }
}

/// Whether a symbol is only the image's name again.
fn is_unnamed(image: &str, symbol: &str) -> bool {
    let name = symbol.rsplit('/').next().unwrap_or(symbol);
    matches!(symbol, "" | "(no symbols)" | "[unknown]")
        || symbol.starts_with('/') && image.rsplit('/').next().is_some_and(|image| image == name)
}

fn is_kernel(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or(image);
    name.starts_with("vmlinux")
        || matches!(name, "no-vmlinux" | "kallsyms")
        || name.ends_with(".ko")
}

/// The file and the line of `file.c:123`, or of `(no location information)`.
fn place(text: &str) -> (&str, u32) {
    if let Some((file, line)) = text.rsplit_once(':')
        && let Ok(line) = line.parse()
    {
        return (file, line);
    }
    match text.starts_with('(') {
        true => ("", 0),
        false => (text, 0),
    }
}
