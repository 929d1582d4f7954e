//! The local variables of Python frames, as they are shown.
//!
//! Texts and bytes may be anyone's private data, and such screens are pasted into reports. So their
//! contents are shown only if they are asked for, and those that look like secrets never.

mod number;
mod secret;
mod show;

use profundo_cpython::Origin;
use profundo_process::reading::{FrameVariables, Missing, NamedObject, ThreadVariables};
use profundo_report::{FrameLocals, Local, ThreadLocals};

use show::Shower;

/// The variables as they are shown. `shows_texts`: with the contents of texts and bytes.
pub fn shown(threads: &[ThreadVariables], shows_texts: bool) -> Vec<ThreadLocals> {
    let shower = Shower { shows_texts };
    let of_thread = |thread: &ThreadVariables| ThreadLocals {
        pid: thread.pid,
        tid: thread.tid,
        frames: thread
            .frames
            .iter()
            .map(|frame| of_frame(&shower, frame))
            .collect(),
    };
    threads.iter().map(of_thread).collect()
}

fn of_frame(shower: &Shower, frame: &FrameVariables) -> FrameLocals {
    let variables = frame.variables.iter();
    FrameLocals {
        variables: variables.map(|variable| local(shower, variable)).collect(),
        missing: frame.missing.map(|missing| match missing {
            Missing::Moved => "not read: the thread went on meanwhile",
            Missing::Late => "not read from here on: that would have taken too long",
            Missing::Unreadable => "variables that cannot be read",
            Missing::Many => "more variables",
        }),
    }
}

fn local(shower: &Shower, variable: &NamedObject) -> Local {
    let NamedObject {
        name,
        origin,
        object,
    } = variable;
    let (value, is_hidden) = shower.variable(name, object);
    Local {
        name: name.clone(),
        origin: match origin {
            Origin::Argument => "argument",
            Origin::Local => "local",
            Origin::Outer => "outer",
        },
        class: object.class.clone(),
        value,
        is_hidden,
    }
}
